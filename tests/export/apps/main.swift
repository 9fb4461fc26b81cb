// Prints a file's metadata, then the numbers of every text that comes in: "u" and code units of
// UTF-16, or "r" and bytes, all hexadecimal.
import Foundation

let arguments = CommandLine.arguments
let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: arguments[1])))
let size = Int(arguments[2])!
print(String(decoding: try TextIn.readJSON(file)!, as: UTF8.self))
guard let facts = try TextIn.readMetadata(file), facts.text?.max_bytes == size else { exit(1) }
while let line = readLine() {
  let parts = line.split(separator: " ")
  let values = parts.dropFirst().map { UInt16($0, radix: 16)! }
  let numbers =
    parts[0] == "u"
    ? TextIn.encode(String(decoding: values, as: UTF16.self), maxBytes: size)
    : TextIn.encode(values.map { UInt8($0) }, maxBytes: size)
  print(numbers.map { String($0) }.joined(separator: " "))
}

// Text encoder and metadata reader, which an app needs in addition to the runtime.
// Plain Swift without iOS; tests/export/test_apps.py checks it on ../testvectors.
import Foundation

enum TextIn {
  /// The metadata of a file that an app needs; the JSON has more.
  struct Metadata: Decodable {
    struct Text: Decodable {
      let max_bytes: Int?
    }

    let labels: [String]?
    let text: Text?
  }

  struct NoModel: Error {}

  /// The UTF-8 bytes of a text as the file's input: filled up with zeros, or cut.
  ///
  /// The file ignores zeros at the end. So a text that itself ends in NUL characters gets a -1
  /// behind them. `maxBytes` is `text.max_bytes` in the metadata.
  static func encode(_ text: String, maxBytes: Int) -> [Int32] {
    return encode([UInt8](text.utf8), maxBytes: maxBytes)
  }

  /// The same for any bytes.
  static func encode(_ bytes: [UInt8], maxBytes: Int) -> [Int32] {
    var used = min(bytes.count, maxBytes)
    if used > 0 && bytes[used - 1] == 0 { used = min(used, maxBytes - 1) }
    var numbers = [Int32](repeating: 0, count: maxBytes)
    for i in 0..<used { numbers[i] = Int32(bytes[i]) }
    if used > 0 && used < maxBytes && bytes[used - 1] == 0 { numbers[used] = -1 }
    return numbers
  }

  /// The JSON that kerascompact wrote into a file, or nil if another exporter wrote the file.
  ///
  /// A .tflite file is a flatbuffer: a table starts with the distance back to its list of fields,
  /// which has the position of each. `Model` has `buffers` as field 4 and `metadata` as field 6,
  /// `Metadata` has `name` and `buffer`, `Buffer` has `data`.
  static func readJSON(_ file: [UInt8]) throws -> Data? {
    func uint16(_ at: Int) -> Int { return Int(file[at]) | Int(file[at + 1]) << 8 }
    func uint32(_ at: Int) -> Int { return uint16(at) | uint16(at + 2) << 16 }
    func follow(_ at: Int) -> Int { return at + uint32(at) }
    func field(_ table: Int, _ number: Int) -> Int {
      // the distance has a sign: the list of fields may follow its table
      let fields = table - Int(Int32(truncatingIfNeeded: uint32(table)))
      let entry = 4 + 2 * number
      let offset = entry < uint16(fields) ? uint16(fields + entry) : 0
      return offset == 0 ? 0 : table + offset
    }
    func bytes(_ at: Int) -> ArraySlice<UInt8> {
      let start = follow(at) + 4
      return file[start..<start + uint32(start - 4)]
    }

    guard file.count >= 8, file[4..<8].elementsEqual("TFL3".utf8) else { throw NoModel() }
    let model = follow(0)
    let entries = field(model, 6)
    if entries == 0 { return nil }
    let list = follow(entries)
    for i in 0..<uint32(list) {
      let entry = follow(list + 4 + 4 * i)
      guard bytes(field(entry, 0)).elementsEqual("kerascompact".utf8) else { continue }
      let place = field(entry, 1)
      let number = place == 0 ? 0 : uint32(place)
      let buffer = follow(follow(field(model, 4)) + 4 + 4 * number)
      return Data(bytes(field(buffer, 0)))
    }
    return nil
  }

  static func readMetadata(_ file: [UInt8]) throws -> Metadata? {
    return try readJSON(file).map { try JSONDecoder().decode(Metadata.self, from: $0) }
  }
}

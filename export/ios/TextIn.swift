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
  struct Damaged: Error {}

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
      return try json(Array(bytes(field(buffer, 0))))
    }
    return nil
  }

  /// The JSON of a buffer, whose entries behind the checksum may be deflated.
  private static func json(_ content: [UInt8]) throws -> Data {
    let head = "{\"crc32\":\"00000000\"}".utf8.count
    if content.count <= head || content[head - 1] != UInt8(ascii: "}") { return Data(content) }
    let rest = try inflate(Array(content[head...]))
    return Data(content[..<(head - 1)] + [UInt8(ascii: ",")] + rest.dropFirst())
  }

  static func readMetadata(_ file: [UInt8]) throws -> Metadata? {
    return try readJSON(file).map { try JSONDecoder().decode(Metadata.self, from: $0) }
  }

  /// A Huffman code: how many values have each length, and the values in their order.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var values: [Int] = []

    init(_ lengths: [Int]) {
      for length in lengths where length > 0 { counts[length] += 1 }
      for length in 1..<16 {
        for value in lengths.indices where lengths[value] == length { values.append(value) }
      }
    }
  }

  /// First value and extra bits of each step: `group` steps have as many, then one more.
  private static func steps(_ first: Int, group: Int, count: Int) -> [(Int, Int)] {
    var found: [(Int, Int)] = []
    var value = first
    for i in 0..<count {
      let extra = max(0, i / group - 1)
      found.append((value, extra))
      value += 1 << extra
    }
    return found
  }

  /// Decompresses a raw DEFLATE stream (RFC 1951), which Foundation has on Apple's systems only.
  static func inflate(_ data: [UInt8]) throws -> [UInt8] {
    let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    let lengths = steps(3, group: 4, count: 28) + [(258, 0)]
    let distances = steps(1, group: 2, count: 30)
    var out: [UInt8] = []
    var at = 0  // in bits
    func bits(_ count: Int) throws -> Int {
      var value = 0
      for i in 0..<count {
        guard at / 8 < data.count else { throw Damaged() }
        value |= (Int(data[at / 8]) >> (at % 8) & 1) << i
        at += 1
      }
      return value
    }
    func decode(_ code: Code) throws -> Int {
      var number = 0
      var first = 0
      var index = 0
      for length in 1..<16 {
        number |= try bits(1)
        if number - first < code.counts[length] { return code.values[index + number - first] }
        index += code.counts[length]
        first = (first + code.counts[length]) << 1
        number <<= 1
      }
      throw Damaged()
    }
    var last = 0
    while last == 0 {
      last = try bits(1)
      let kind = try bits(2)
      if kind == 0 {
        at = (at + 7) / 8 * 8
        let size = try bits(16)
        _ = try bits(16)
        for _ in 0..<size { out.append(UInt8(try bits(8))) }
        continue
      }
      var literals = Code((0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
      var far = Code([Int](repeating: 5, count: 30))
      if kind == 2 {
        let count = try bits(5) + 257
        let all = try count + bits(5) + 1
        let own = try bits(4) + 4
        var sizes = [Int](repeating: 0, count: 19)
        for i in 0..<own { sizes[order[i]] = try bits(3) }
        let code = Code(sizes)
        var found: [Int] = []
        while found.count < all {
          let value = try decode(code)
          if value < 16 {
            found.append(value)
          } else if value == 16 {
            guard let before = found.last else { throw Damaged() }
            found += [Int](repeating: before, count: try bits(2) + 3)
          } else {
            found += [Int](repeating: 0, count: try value == 17 ? bits(3) + 3 : bits(7) + 11)
          }
        }
        literals = Code(Array(found[..<count]))
        far = Code(Array(found[count...]))
      }
      while true {
        let value = try decode(literals)
        if value == 256 { break }
        if value < 256 {
          out.append(UInt8(value))
          continue
        }
        guard value - 257 < lengths.count else { throw Damaged() }
        let (length, more) = lengths[value - 257]
        let size = try length + bits(more)
        let step = try decode(far)
        guard step < distances.count else { throw Damaged() }
        let (distance, further) = distances[step]
        let back = try distance + bits(further)
        guard back <= out.count else { throw Damaged() }
        for _ in 0..<size { out.append(out[out.count - back]) }
      }
    }
    return out
  }
}

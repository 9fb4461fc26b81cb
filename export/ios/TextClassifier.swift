// Text classifier for a .tflite file that takes text, on TensorFlow Lite for iOS. It was never built
// for a phone: the tests compile it against the runtime's signatures, and run TextIn.swift on the
// vectors.
//
//   pod 'TensorFlowLiteSwift', '~> 2.17'   # Podfile
//
// Add the file to the app's bundle. It must take a fixed number of bytes, as from `kerascompact
// export DIR --text-in --max-bytes 128`. Then:
//
//   let path = Bundle.main.path(forResource: "intents", ofType: "tflite")!
//   let classifier = try TextClassifier(path: path)
//   let best = try classifier.predict("wake me up at seven")[0]   // best.label, best.probability
import Foundation
import TensorFlowLite

/// Must not be used by several threads at once: they would share the interpreter's tensors.
final class TextClassifier {
  struct Prediction {
    let label: String
    let probability: Float
  }

  struct Unfit: LocalizedError {
    let errorDescription: String?
  }

  let labels: [String]
  private let maxBytes: Int
  private let interpreter: Interpreter

  init(path: String) throws {
    let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    guard let facts = try TextIn.readMetadata(file), let labels = facts.labels,
      let maxBytes = facts.text?.max_bytes
    else {
      throw Unfit(errorDescription: "\(path) must take text of a fixed number of bytes.")
    }
    self.labels = labels
    self.maxBytes = maxBytes
    var options = Interpreter.Options()
    options.threadCount = 1
    interpreter = try Interpreter(modelPath: path, options: options)
    try interpreter.allocateTensors()
  }

  /// All labels with their probabilities, the likeliest first.
  func predict(_ text: String) throws -> [Prediction] {
    let numbers = TextIn.encode(text, maxBytes: maxBytes)
    try interpreter.copy(numbers.withUnsafeBufferPointer { Data(buffer: $0) }, toInputAt: 0)
    try interpreter.invoke()
    let output = try interpreter.output(at: 0).data
    let probabilities = output.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    return zip(labels, probabilities)
      .map { Prediction(label: $0, probability: $1) }
      .sorted { $0.probability > $1.probability }
  }
}

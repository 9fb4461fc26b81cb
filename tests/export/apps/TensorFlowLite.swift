// The part of TensorFlow Lite's Swift API that TextClassifier.swift uses, to type-check it.
import Foundation

public struct Tensor {
  public let data: Data
}

public final class Interpreter {
  public struct Options {
    public var threadCount: Int?
    public init() {}
  }

  public init(modelPath: String, options: Options? = nil) throws { fatalError(modelPath) }
  public func allocateTensors() throws { fatalError() }
  @discardableResult
  public func copy(_ data: Data, toInputAt index: Int) throws -> Tensor { fatalError("\(index)") }
  public func invoke() throws { fatalError() }
  public func output(at index: Int) throws -> Tensor { fatalError("\(index)") }
}

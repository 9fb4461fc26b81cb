// The part of LiteRT's Kotlin API that TextClassifier.kt uses, so that it can be type-checked.
package com.google.ai.edge.litert

import android.content.res.AssetManager

enum class Accelerator { CPU }

class TensorBuffer : AutoCloseable {
    fun writeInt(data: IntArray): Unit = TODO("${data.size}")
    fun readFloat(): FloatArray = TODO()
    override fun close() {}
}

class CompiledModel : AutoCloseable {
    class Options(vararg val accelerators: Accelerator)

    fun createInputBuffers(signatureIndex: Int = 0): List<TensorBuffer> = TODO("$signatureIndex")
    fun createOutputBuffers(signatureIndex: Int = 0): List<TensorBuffer> = TODO("$signatureIndex")
    fun run(inputs: List<TensorBuffer>, outputs: List<TensorBuffer>): Unit =
        TODO("$inputs $outputs")
    override fun close() {}

    companion object {
        fun create(assetManager: AssetManager, assetName: String, options: Options): CompiledModel =
            TODO("$assetManager $assetName $options")
    }
}

// Text classifier for a .tflite file that takes text, on LiteRT for Android. It was never built for
// a phone: the tests compile it against the runtime's signatures, and run TextIn.kt on the vectors.
//
//   dependencies { implementation("com.google.ai.edge.litert:litert:2.1.0") }   // build.gradle.kts
//
// Put the file into src/main/assets. It must take a fixed number of bytes, as from `kerascompact
// export DIR --text-in --max-bytes 128`. Then, possibly off the main thread:
//
//   TextClassifier(context.assets, "intents.tflite").use { classifier ->
//       val (label, probability) = classifier.predict("wake me up at seven").first()
//   }
package kerascompact

import android.content.res.AssetManager
import com.google.ai.edge.litert.Accelerator
import com.google.ai.edge.litert.CompiledModel
import org.json.JSONObject

/** One label with its probability; `val (label, probability) = ...` splits it. */
data class Prediction(val label: String, val probability: Float)

/** Must not be used by several threads at once: they would share input and output buffers. */
class TextClassifier(assets: AssetManager, name: String) : AutoCloseable {
    val labels: List<String>
    private val maxBytes: Int

    init {
        val json = TextIn.readMetadata(assets.open(name).use { it.readBytes() })
        val facts = JSONObject(requireNotNull(json) { "$name has no metadata of kerascompact." })
        val text = requireNotNull(facts.optJSONObject("text")) { "$name takes ids, not text." }
        maxBytes = text.optInt("max_bytes")
        require(maxBytes > 0) { "$name must take a fixed number of bytes." }
        val names = facts.getJSONArray("labels")
        labels = List(names.length()) { names.getString(it) }
    }

    // Gathering rows of integer tables is work for the CPU, not for a GPU.
    private val model = CompiledModel.create(assets, name, CompiledModel.Options(Accelerator.CPU))
    private val inputs = model.createInputBuffers()
    private val outputs = model.createOutputBuffers()

    /** All labels with their probabilities, the likeliest first. */
    fun predict(text: String): List<Prediction> {
        inputs[0].writeInt(TextIn.encode(text, maxBytes))
        model.run(inputs, outputs)
        return labels.zip(outputs[0].readFloat().toList(), ::Prediction)
            .sortedByDescending { it.probability }
    }

    override fun close() {
        (inputs + outputs).forEach { it.close() }
        model.close()
    }
}

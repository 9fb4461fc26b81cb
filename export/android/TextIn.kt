// What an app needs beside the runtime: a text as numbers, and what the file says of itself.
// Plain Kotlin, no Android in it; checked over ../testvectors by tests/export/test_apps.py.
package kerascompact

import java.nio.ByteBuffer
import java.nio.ByteOrder

object TextIn {
    /**
     * The UTF-8 bytes of a text as the file's input takes them, zeros behind; longer texts are cut.
     *
     * The file drops zeros at the end. A text that itself ends in NUL characters therefore gets a
     * -1 behind them, which is no byte. [maxBytes] is `text.max_bytes` of the metadata.
     */
    fun encode(text: String, maxBytes: Int): IntArray =
        encode(wellFormed(text).toByteArray(Charsets.UTF_8), maxBytes)

    /** The same for bytes, which may be any. */
    fun encode(bytes: ByteArray, maxBytes: Int): IntArray {
        val nul = 0.toByte()
        var used = minOf(bytes.size, maxBytes)
        if (used > 0 && bytes[used - 1] == nul) used = minOf(used, maxBytes - 1)
        val numbers = IntArray(maxBytes)
        for (i in 0 until used) numbers[i] = bytes[i].toInt() and 0xFF // a Byte has a sign
        if (used in 1 until maxBytes && bytes[used - 1] == nul) numbers[used] = -1
        return numbers
    }

    /** Half of a surrogate pair becomes U+FFFD, as in browsers; Java would send a question mark. */
    private fun wellFormed(text: String): String {
        val whole = StringBuilder(text.length)
        var i = 0
        while (i < text.length) {
            val letter = text[i++]
            if (letter.isHighSurrogate() && i < text.length && text[i].isLowSurrogate()) {
                whole.append(letter).append(text[i++])
            } else {
                whole.append(if (letter.isSurrogate()) '\uFFFD' else letter)
            }
        }
        return whole.toString()
    }

    /**
     * The JSON that kerascompact wrote into a file, or null for a file of another maker.
     *
     * A .tflite file is a flatbuffer: a table starts with the distance back to its list of fields,
     * which gives the place of each. `Model` has `buffers` as field 4 and `metadata` as field 6,
     * `Metadata` its `name` and `buffer`, `Buffer` its `data`.
     */
    fun readMetadata(file: ByteArray): String? {
        val view = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN)
        fun short(at: Int) = view.getShort(at).toInt() and 0xFFFF
        fun follow(at: Int) = at + view.getInt(at)
        fun field(table: Int, number: Int): Int {
            val fields = table - view.getInt(table)
            val entry = 4 + 2 * number
            val offset = if (entry < short(fields)) short(fields + entry) else 0
            return if (offset == 0) 0 else table + offset
        }
        fun text(at: Int) = String(file, follow(at) + 4, view.getInt(follow(at)), Charsets.UTF_8)

        require(file.size >= 8 && String(file, 4, 4, Charsets.US_ASCII) == "TFL3") {
            "This is no .tflite file."
        }
        val model = follow(0)
        val entries = field(model, 6)
        if (entries == 0) return null
        val list = follow(entries)
        for (i in 0 until view.getInt(list)) {
            val entry = follow(list + 4 + 4 * i)
            if (text(field(entry, 0)) != "kerascompact") continue
            val place = field(entry, 1)
            val number = if (place == 0) 0 else view.getInt(place)
            return text(field(follow(follow(field(model, 4)) + 4 + 4 * number), 0))
        }
        return null
    }
}

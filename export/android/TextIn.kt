// Text encoder and metadata reader, which an app needs in addition to the runtime.
// Plain Kotlin without Android; tests/export/test_apps.py checks it on ../testvectors.
package kerascompact

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.zip.Inflater
import java.util.zip.InflaterInputStream

object TextIn {
    /**
     * The UTF-8 bytes of a text as the file's input: filled up with zeros, or cut.
     *
     * The file ignores zeros at the end. So a text that itself ends in NUL characters gets a -1
     * behind them. [maxBytes] is `text.max_bytes` in the metadata.
     */
    fun encode(text: String, maxBytes: Int): IntArray =
        encode(wellFormed(text).toByteArray(Charsets.UTF_8), maxBytes)

    /** The same for any bytes. */
    fun encode(bytes: ByteArray, maxBytes: Int): IntArray {
        val nul = 0.toByte()
        var used = minOf(bytes.size, maxBytes)
        if (used > 0 && bytes[used - 1] == nul) used = minOf(used, maxBytes - 1)
        val numbers = IntArray(maxBytes)
        for (i in 0 until used) numbers[i] = bytes[i].toInt() and 0xFF // a Byte has a sign
        if (used in 1 until maxBytes && bytes[used - 1] == nul) numbers[used] = -1
        return numbers
    }

    /** Replaces half a surrogate pair by U+FFFD, as browsers do; Java would write a question mark. */
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
     * The JSON that kerascompact wrote into a file, or null if another exporter wrote the file.
     *
     * A .tflite file is a flatbuffer: a table starts with the distance back to its list of fields,
     * which has the position of each. `Model` has `buffers` as field 4 and `metadata` as field 6,
     * `Metadata` has `name` and `buffer`, `Buffer` has `data`.
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
            "This is not a .tflite file."
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
            val content = field(follow(follow(field(model, 4)) + 4 + 4 * number), 0)
            return json(file, follow(content) + 4, view.getInt(follow(content)))
        }
        return null
    }

    /** The JSON of a buffer, whose entries behind the checksum may be deflated. */
    private fun json(file: ByteArray, start: Int, size: Int): String {
        val head = HEAD.length
        val whole = size == head || file[start + head - 1] != '}'.code.toByte()
        if (whole) return String(file, start, size, Charsets.UTF_8)
        val stream = ByteArrayInputStream(file, start + head, size - head)
        val rest = InflaterInputStream(stream, Inflater(true)).readBytes()
        val entries = String(rest, Charsets.UTF_8).drop(1) // behind the brace
        return String(file, start, head - 1, Charsets.UTF_8) + "," + entries
    }

    private const val HEAD = "{\"crc32\":\"00000000\"}"
}

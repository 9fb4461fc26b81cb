// Prints a file's metadata, then the numbers of every text that comes in: "u" and code units of
// UTF-16, or "r" and bytes, all hexadecimal.
import java.io.File
import java.io.PrintStream
import kerascompact.TextIn

fun main(args: Array<String>) {
    val out = PrintStream(System.out, true, "UTF-8")
    out.println(TextIn.readMetadata(File(args[0]).readBytes()))
    val size = args[1].toInt()
    for (line in generateSequence(::readLine)) {
        val parts = line.trim().split(" ")
        val values = parts.drop(1).map { it.toInt(16) }
        val numbers = if (parts[0] == "u") {
            TextIn.encode(String(CharArray(values.size) { values[it].toChar() }), size)
        } else {
            TextIn.encode(ByteArray(values.size) { values[it].toByte() }, size)
        }
        out.println(numbers.joinToString(" "))
    }
}

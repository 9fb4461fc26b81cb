// The part of Android that TextClassifier.kt uses, so that it can be type-checked.
package android.content.res

import java.io.InputStream

class AssetManager {
    fun open(fileName: String): InputStream = TODO(fileName)
}

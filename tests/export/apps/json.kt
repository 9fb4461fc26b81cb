// The part of Android's org.json that TextClassifier.kt uses, so that it can be type-checked.
package org.json

class JSONArray {
    fun length(): Int = TODO()
    fun getString(index: Int): String = TODO("$index")
}

class JSONObject(val json: String) {
    fun optJSONObject(name: String): JSONObject? = TODO(name)
    fun optInt(name: String): Int = TODO(name)
    fun getJSONArray(name: String): JSONArray = TODO(name)
}

// What the Kotlin compiler makes of objects, data classes, companions, inlined lambdas, `lazy` and `lateinit`.
//
// expect: data-race Account.balance
// expect: data-race Account.opened
// expect: data-race Late.point
// expect: data-race Point.x
// expect: data-race Registry.hits

import kotlin.concurrent.thread

object Registry {
    var hits = 0
    val names = ArrayList<String>()
}

data class Point(var x: Int, val y: Int)

class Account(private val lock: Any = Any()) {
    var balance = 0
        private set

    fun deposit(amount: Int) = synchronized(lock) { balance += amount }

    fun peek(): Int = balance

    companion object {
        @JvmStatic
        @Volatile
        var ready = false
        var opened = 0
    }
}

class Late {
    val made by lazy { Point(1, 2) }
    lateinit var point: Point
}

inline fun times(count: Int, body: (Int) -> Unit) {
    for (number in 0 until count) body(number)
}

fun main() {
    val account = Account()
    val shared = Point(0, 0)
    val late = Late()
    val workers = (1..3).map { number ->
        thread {
            times(100) { account.deposit(it) }
            Registry.hits++
            shared.x += number
            Account.opened++
            late.point = late.made.copy(x = number)
            synchronized(Registry.names) { Registry.names.add("worker $number") }
            Account.ready = true
        }
    }
    println(account.peek() >= 0)
    workers.forEach { it.join() }
    println("${Account.ready} ${Registry.names.size} ${account.balance}")
}

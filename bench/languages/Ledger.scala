// What the Scala compiler makes of objects, case classes, traits with fields, closures and futures.
//
// expect: data-race Account.count
// expect: data-race Point.x
// expect: data-race Registry$.hits

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}

object Registry {
  var hits = 0
  lazy val kind = "registry"
  @volatile var ready = false
}

case class Point(var x: Int, y: Int)

trait Counting {
  var count = 0
  def more(): Unit = count += 1
}

class Account extends Counting {
  private var balance = 0
  def deposit(amount: Int): Unit = synchronized { balance += amount }
  def sum: Int = synchronized(balance)
}

object Ledger {
  def main(args: Array[String]): Unit = {
    val account = new Account
    val shared = Point(0, 1)
    val all = (1 to 4).map { number =>
      Future {
        for (amount <- 1 to 100) account.deposit(amount)
        Registry.hits += 1
        shared match {
          case point @ Point(_, 1) => point.x += number
          case _                   => ()
        }
        account.more()
        Registry.ready = true
      }
    }
    Await.result(Future.sequence(all), 10.seconds)
    val last = new Thread(new Runnable { def run(): Unit = account.deposit(1) })
    last.start()
    last.join()
    println(account.sum + " " + Registry.ready + " " + Registry.kind)
  }
}

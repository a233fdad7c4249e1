import java.util.ArrayList;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * What the library orders by iterators and views, by failures, by functions that it calls and by interrupts; the names of
 * the fields say what races.
 */
public class MoreOrders extends Turns {
    static class Item implements Comparable<Item> {
        final int number;
        int entryOk;
        int entryRacy;
        int keyOk;
        int eachEntryOk;
        int eachKeyOk;
        int streamedOk;
        int endedOk;
        int endedRacy;
        int supportedOk;
        int containedOk;
        int containedRacy;
        int keysOk;
        int elementsOk;
        int allOk;
        int replacedOk;
        int keySetOk;
        int bulkOk;
        int skipKeyOk;
        int skipValueOk;
        int skipEntryOk;
        int firstKeyOk;
        int ceilingOk;
        int headOk;
        int headKeysOk;
        int headComputedOk;
        int headEachOk;
        int descendingOk;
        int skipSetOk;
        int skipSetRacy;
        int headSetOk;
        int dequeOk;
        int linkedOk;
        int linkedDequeOk;
        int arrayOk;
        int transferOk;
        int priorityOk;
        int iteratedRacy;
        int copyAllOk;
        int copySetOk;
        int partOk;
        int presentRacy;
        int presentSetRacy;
        int absentOk;
        int absentAllRacy;
        int groupedOk;
        int groupedRacy;
        int partitionedOk;
        int mappedOk;
        int nestedOk;
        int concurrentOk;
        int consumedOk;
        int consumedRacy;
        int nextOk;

        Item() {
            this(0);
        }

        Item(int number) {
            this.number = number;
        }

        @Override
        public int compareTo(Item other) {
            return Integer.compare(number, other.number);
        }
    }

    int failedOk;
    int failedRacy;
    int cancelledOk;
    int dependentOk;
    int anyOk;
    int anyStageOk;
    int copyOk;
    int recoveredOk;
    int nowOk;
    int nowRacy;
    int poolOk;
    int forkedOk;
    int invokedOk;
    int completedOk;
    int memoOk;
    int memoRacy;
    int memoFailedOk;
    int actionOk;
    int actionRacy;
    int beforeActionOk;
    int advanceOk;
    int beforeAdvanceOk;
    int poolHookOk;
    int poolHookRacy;
    int poolEndOk;
    int minimalOk;
    int minimalRacy;
    int consumerOk;
    int subscriberOk;
    int completeOk;
    int sleepOk;
    int sleepRacy;
    int unitOk;
    int takeOk;
    int latchOk;
    int semaphoreOk;
    int conditionOk;
    int lockOk;
    int getOk;
    int waitOk;
    int barrierOk;
    int joinOk;
    int dequeOk;
    int transferOk;
    int exchangeOk;
    int phaseOk;
    int stampedOk;
    int timedOk;

    static void hashMaps() throws Exception {
        ConcurrentHashMap<Item, Item> map = new ConcurrentHashMap<>();
        inTurn(() -> {
            Item item = new Item();
            item.entryOk = 1;
            map.put(item, item);
            item.entryRacy = 1;
        }, () -> {
            for (Map.Entry<Item, Item> entry : map.entrySet()) {
                entry.getValue().entryOk++;
                entry.getValue().entryRacy++;
            }
        });
        Item key = new Item();
        Item value = new Item();
        ConcurrentHashMap<Item, Item> keys = new ConcurrentHashMap<>();
        inTurn(() -> {
            key.keyOk = 1;
            keys.put(key, value);
        }, () -> {
            for (Item each : keys.keySet()) {
                each.keyOk++;
            }
        });
        ConcurrentHashMap<Item, Item> entries = new ConcurrentHashMap<>();
        inTurn(() -> {
            Item each = new Item();
            each.eachEntryOk = 1;
            each.eachKeyOk = 1;
            each.streamedOk = 1;
            entries.put(each, each);
        }, () -> entries.entrySet().forEach(entry -> entry.getValue().eachEntryOk++),
                () -> entries.keySet().forEach(each -> each.eachKeyOk++),
                () -> entries.keySet().stream().forEach(each -> each.streamedOk++));
        ConcurrentLinkedQueue<Item> queue = new ConcurrentLinkedQueue<>();
        Stream<Item> early = queue.stream();
        inTurn(() -> {
            Item each = new Item();
            each.endedOk = 1;
            each.supportedOk = 1;
            queue.add(each);
            each.endedRacy = 1;
        }, () -> early.map(each -> each).findFirst().ifPresent(each -> {
            each.endedOk++;
            each.endedRacy++;
        }), () -> StreamSupport.stream(queue.spliterator(), false).forEach(each -> each.supportedOk++));
        ConcurrentHashMap<Item, Item> contained = new ConcurrentHashMap<>();
        inTurn(() -> {
            key.containedOk = 1;
            key.containedRacy = 1;
            contained.put(key, value);
        }, () -> {
            if (!contained.keySet().contains(new Item(1))) {
                key.containedRacy++;
            }
            if (contained.keySet().contains(key)) {
                key.containedOk++;
            }
        });
        ConcurrentHashMap<Item, Item> old = new ConcurrentHashMap<>();
        inTurn(() -> {
            key.keysOk = 1;
            old.put(key, value);
        }, () -> {
            Enumeration<Item> all = old.keys();
            all.nextElement().keysOk++;
        });
        inTurn(() -> {
            Item fresh = new Item();
            fresh.elementsOk = 1;
            old.put(key, fresh);
        }, () -> old.elements().nextElement().elementsOk++);
        ConcurrentHashMap<String, Item> texts = new ConcurrentHashMap<>();
        inTurn(() -> {
            Item fresh = new Item();
            fresh.allOk = 1;
            texts.putAll(Map.of("a", fresh));
        }, () -> texts.get("a").allOk++);
        inTurn(() -> texts.replaceAll((name, before) -> {
            Item fresh = new Item();
            fresh.replacedOk = 1;
            return fresh;
        }), () -> texts.get("a").replacedOk++);
        var set = ConcurrentHashMap.<Item>newKeySet();
        inTurn(() -> {
            Item fresh = new Item();
            fresh.keySetOk = 1;
            set.add(fresh);
        }, () -> {
            for (Item each : set) {
                each.keySetOk++;
            }
        });
        ConcurrentHashMap<String, Item> bulk = new ConcurrentHashMap<>();
        inTurn(() -> {
            for (int i = 0; i < 64; i++) {
                Item fresh = new Item(i);
                fresh.bulkOk = 1;
                bulk.put("bulk" + i, fresh);
            }
        }, () -> {
            bulk.forEach(1, (name, each) -> each.bulkOk++);
            bulk.search(1, (name, each) -> each.bulkOk > 2 ? each : null);
            bulk.reduceValuesToInt(1, each -> each.bulkOk, 0, Integer::sum);
            bulk.reduce(1, (name, each) -> each.bulkOk, Integer::sum);
            for (Item each : bulk.values()) {
                each.bulkOk++;
            }
        });
    }

    static void skipLists() throws Exception {
        ConcurrentSkipListMap<Item, Item> map = new ConcurrentSkipListMap<>();
        inTurn(() -> {
            Item item = new Item();
            item.skipKeyOk = 1;
            map.put(item, item);
        }, () -> {
            for (Item each : map.keySet()) {
                each.skipKeyOk++;
            }
        });
        inTurn(() -> {
            Item item = new Item(1);
            item.skipValueOk = 1;
            map.put(item, item);
        }, () -> {
            for (Item each : map.values()) {
                each.skipValueOk++;
            }
        });
        inTurn(() -> {
            Item item = new Item(2);
            item.skipEntryOk = 1;
            map.put(item, item);
        }, () -> {
            for (Map.Entry<Item, Item> each : map.entrySet()) {
                each.getValue().skipEntryOk++;
            }
        });
        inTurn(() -> {
            Item item = new Item(-1);
            item.firstKeyOk = 1;
            map.put(item, item);
        }, () -> map.firstKey().firstKeyOk++);
        inTurn(() -> {
            Item item = new Item(-2);
            item.ceilingOk = 1;
            map.put(item, item);
        }, () -> map.ceilingKey(new Item(-2)).ceilingOk++);
        Item head = new Item(-3);
        inTurn(() -> {
            head.headOk = 1;
            map.put(head, head);
        }, () -> map.headMap(new Item(0)).get(head).headOk++);
        inTurn(() -> {
            Item item = new Item(-4);
            item.headKeysOk = 1;
            map.put(item, item);
        }, () -> {
            for (Item each : map.headMap(new Item(0)).keySet()) {
                each.headKeysOk++;
            }
        });
        inTurn(() -> map.headMap(new Item(0)).computeIfAbsent(new Item(-6), key -> {
            key.headComputedOk = 1;
            key.headEachOk = 1;
            return key;
        }), () -> map.get(new Item(-6)).headComputedOk++,
                () -> map.headMap(new Item(0)).forEach((key, each) -> each.headEachOk++));
        inTurn(() -> {
            Item item = new Item(-5);
            item.descendingOk = 1;
            map.descendingMap().put(item, item);
        }, () -> {
            for (Item each : map.descendingMap().values()) {
                each.descendingOk++;
            }
        });
        ConcurrentSkipListSet<Item> set = new ConcurrentSkipListSet<>();
        inTurn(() -> {
            Item item = new Item();
            item.skipSetOk = 1;
            set.add(item);
            item.skipSetRacy = 1;
        }, () -> {
            for (Item each : set) {
                each.skipSetOk++;
                each.skipSetRacy++;
            }
        });
        inTurn(() -> {
            Item item = new Item(-1);
            item.headSetOk = 1;
            set.add(item);
        }, () -> {
            for (Item each : set.headSet(new Item())) {
                each.headSetOk++;
            }
        });
    }

    static void queues() throws Exception {
        Queue<Item> deque = new ConcurrentLinkedDeque<>();
        inTurn(() -> {
            Item item = new Item();
            item.dequeOk = 1;
            deque.add(item);
        }, () -> deque.iterator().next().dequeOk++);
        BlockingQueue<Item> linked = new LinkedBlockingQueue<>();
        inTurn(() -> {
            Item item = new Item();
            item.linkedOk = 1;
            linked.add(item);
            item.iteratedRacy = 1;
        }, () -> {
            for (Item each : linked) {
                each.linkedOk++;
                each.iteratedRacy++;
            }
        });
        BlockingQueue<Item> both = new LinkedBlockingDeque<>();
        inTurn(() -> {
            Item item = new Item();
            item.linkedDequeOk = 1;
            both.add(item);
        }, () -> both.iterator().next().linkedDequeOk++);
        BlockingQueue<Item> array = new ArrayBlockingQueue<>(2);
        inTurn(() -> {
            Item item = new Item();
            item.arrayOk = 1;
            array.add(item);
        }, () -> array.iterator().next().arrayOk++);
        BlockingQueue<Item> transfer = new LinkedTransferQueue<>();
        inTurn(() -> {
            Item item = new Item();
            item.transferOk = 1;
            transfer.add(item);
        }, () -> transfer.iterator().next().transferOk++);
        BlockingQueue<Item> priority = new PriorityBlockingQueue<>();
        inTurn(() -> {
            Item item = new Item();
            item.priorityOk = 1;
            priority.add(item);
        }, () -> {
            Iterator<Item> items = priority.iterator();
            items.next().priorityOk++;
        });
    }

    static void copies() throws Exception {
        List<Item> list = new CopyOnWriteArrayList<>();
        inTurn(() -> {
            Item item = new Item();
            item.copyAllOk = 1;
            list.addAll(List.of(item));
        }, () -> list.get(0).copyAllOk++);
        inTurn(() -> {
            Item item = new Item();
            item.copySetOk = 1;
            list.set(0, item);
        }, () -> list.get(0).copySetOk++);
        inTurn(() -> {
            Item item = new Item(1);
            item.partOk = 1;
            list.add(item);
        }, () -> list.subList(1, 2).get(0).partOk++);
        CopyOnWriteArrayList<Item> absent = new CopyOnWriteArrayList<>();
        Item there = new Item();
        absent.add(there);
        inTurn(() -> {
            there.presentRacy = 1;
            absent.addIfAbsent(there);
        }, () -> absent.get(0).presentRacy++);
        inTurn(() -> {
            there.absentAllRacy = 1;
            absent.addAllAbsent(List.of(there));
        }, () -> absent.get(0).absentAllRacy++);
        CopyOnWriteArraySet<Item> set = new CopyOnWriteArraySet<>();
        set.add(there);
        inTurn(() -> {
            there.presentSetRacy = 1;
            set.add(there);
        }, () -> set.iterator().next().presentSetRacy++);
        inTurn(() -> {
            Item item = new Item();
            item.absentOk = 1;
            absent.addIfAbsent(item);
        }, () -> absent.get(1).absentOk++);
    }

    void failures() throws Exception {
        CompletableFuture<String> failed = new CompletableFuture<>();
        inTurn(() -> {
            failedOk = 1;
            failed.completeExceptionally(new IllegalStateException());
            failedRacy = 1;
        }, () -> {
            fails(failed::join);
            failedOk++;
            failedRacy++;
        });
        CompletableFuture<String> cancelled = new CompletableFuture<>();
        inTurn(() -> {
            cancelledOk = 1;
            cancelled.cancel(true);
        }, () -> {
            fails(cancelled::get);
            cancelledOk++;
        });
        CompletableFuture<String> source = new CompletableFuture<>();
        CompletableFuture<String> dependent = source.thenApply(text -> text + "!");
        inTurn(() -> {
            dependentOk = 1;
            source.completeExceptionally(new IllegalStateException());
        }, () -> {
            fails(dependent::join);
            dependentOk++;
        });
        CompletableFuture<String> first = new CompletableFuture<>();
        CompletableFuture<Object> any = CompletableFuture.anyOf(first, new CompletableFuture<>());
        CompletableFuture<Object> stage = any.exceptionally(failure -> "recovered");
        CompletableFuture<String> copy = first.copy();
        CompletableFuture<String> unharmed = first.exceptionally(failure -> "recovered");
        CompletableFuture<String> other = first.thenApply(text -> {
            nowOk = 1;
            return text;
        });
        inTurn(() -> {
            nowRacy = 1;
            other.getNow("nothing");
        }, () -> nowRacy++);
        inTurn(() -> {
            anyOk = 1;
            anyStageOk = 1;
            copyOk = 1;
            recoveredOk = 1;
            first.complete("first");
        }, () -> {
            any.join();
            anyOk++;
        }, () -> {
            stage.get();
            anyStageOk++;
        }, () -> {
            copy.join();
            copyOk++;
        }, () -> {
            unharmed.join();
            recoveredOk++;
        }, () -> {
            other.getNow("nothing");
            nowOk++;
        });
        ExecutorService pool = Executors.newFixedThreadPool(1);
        Future<?> task = pool.submit(() -> {
            poolOk = 1;
            throw new IllegalStateException();
        });
        fails(task::get);
        poolOk++;
        pool.shutdown();
        RecursiveAction action = new RecursiveAction() {
            @Override
            protected void compute() {
                forkedOk = 1;
                throw new IllegalStateException();
            }
        };
        ForkJoinPool.commonPool().execute(action);
        fails(action::join);
        forkedOk++;
        RecursiveAction invoked = new RecursiveAction() {
            @Override
            protected void compute() {
                invokedOk = 1;
                throw new IllegalStateException();
            }
        };
        fails(() -> new ForkJoinPool(1).invoke(invoked));
        invokedOk++;
        RecursiveAction completed = new RecursiveAction() {
            @Override
            protected void compute() { }
        };
        inTurn(() -> {
            completedOk = 1;
            completed.completeExceptionally(new IllegalStateException());
        }, () -> {
            fails(completed::get);
            completedOk++;
        });
    }

    static void fails(Body body) {
        try {
            body.run();
        } catch (Exception e) {
            return;
        }
        throw new IllegalStateException("nothing failed");
    }

    void functions() throws Exception {
        FutureTask<String> memo = new FutureTask<>(() -> {
            memoOk = 1;
            return "memo";
        });
        inTurn(() -> {
            memo.run();
            memoRacy = 1;
        }, () -> {
            memo.get();
            memoOk++;
            memoRacy++;
        });
        FutureTask<String> failing = new FutureTask<>(() -> {
            memoFailedOk = 1;
            throw new IllegalStateException();
        });
        inTurn(failing::run, () -> {
            fails(failing::get);
            memoFailedOk++;
        });
        CyclicBarrier barrier = new CyclicBarrier(2, () -> {
            beforeActionOk++;
            actionOk = 1;
        });
        Thread one = start(() -> {
            beforeActionOk = 1;
            barrier.await();
            int seen = actionOk;
            actionRacy = 1;
        });
        Thread two = start(() -> {
            barrier.await();
            int seen = actionOk;
            actionRacy = 1;
        });
        one.join();
        two.join();
        Phaser phaser = new Phaser(2) {
            @Override
            protected boolean onAdvance(int phase, int parties) {
                beforeAdvanceOk++;
                advanceOk = 1;
                return false;
            }
        };
        one = start(() -> {
            beforeAdvanceOk = 1;
            phaser.arriveAndAwaitAdvance();
            int seen = advanceOk;
        });
        two = start(() -> {
            phaser.arriveAndAwaitAdvance();
            int seen = advanceOk;
        });
        one.join();
        two.join();
    }

    void pools() throws Exception {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(2, 2, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>()) {
            @Override
            protected void beforeExecute(Thread thread, Runnable task) {
                poolHookOk++;
            }

            @Override
            protected void afterExecute(Runnable task, Throwable failure) {
                poolHookOk += poolHookRacy;
            }

            @Override
            protected void terminated() {
                poolEndOk++;
            }
        };
        poolHookOk = 1;
        pool.submit(() -> {}).get();
        pool.shutdown();
        poolHookRacy = 1;
        if (!pool.awaitTermination(20, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the pool goes on");
        }
        poolHookOk++;
        poolEndOk++;
    }

    void publishers() throws Exception {
        SubmissionPublisher<Item> publisher = new SubmissionPublisher<>();
        CompletableFuture<Void> consumed = publisher.consume(item -> {
            item.consumedOk++;
            item.consumedRacy++;
            consumerOk++;
        });
        Item first = new Item();
        first.consumedOk = 1;
        publisher.submit(new Item());
        publisher.submit(first);
        first.consumedRacy = 1;
        publisher.close();
        consumed.get();
        consumerOk++;

        SubmissionPublisher<Item> other = new SubmissionPublisher<>();
        CountDownLatch end = new CountDownLatch(1);
        other.subscribe(new Flow.Subscriber<>() {
            @Override
            public void onSubscribe(Flow.Subscription subscription) {
                subscription.request(Long.MAX_VALUE);
                subscriberOk++;
            }

            @Override
            public void onNext(Item item) {
                item.nextOk++;
                subscriberOk++;
            }

            @Override
            public void onError(Throwable failure) {}

            @Override
            public void onComplete() {
                subscriberOk += completeOk;
                end.countDown();
            }
        });
        for (int i = 0; i < 10; i++) {
            Item item = new Item();
            item.nextOk = 1;
            other.submit(item);
        }
        completeOk = 1;
        other.close();
        end.await();
        subscriberOk++;
    }

    void stages() throws Exception {
        CompletableFuture<String> future = new CompletableFuture<>();
        CompletionStage<String> stage = future.minimalCompletionStage();
        inTurn(() -> {
            minimalOk = 1;
            future.complete("done");
            minimalRacy = 1;
        }, () -> {
            stage.toCompletableFuture().join();
            minimalOk++;
            minimalRacy++;
        });
    }

    void interrupts() throws Exception {
        interrupt(() -> sleepOk = 1, () -> Thread.sleep(20_000), () -> sleepOk++);
        inTurn(() -> {
            sleepRacy = 1;
            Thread.sleep(1);
        }, () -> sleepRacy++);
        interrupt(() -> unitOk = 1, () -> TimeUnit.SECONDS.sleep(20), () -> unitOk++);
        BlockingQueue<String> queue = new LinkedBlockingQueue<>();
        interrupt(() -> takeOk = 1, queue::take, () -> takeOk++);
        interrupt(() -> takeOk = 1, () -> queue.poll(20, TimeUnit.SECONDS), () -> takeOk++);
        CountDownLatch latch = new CountDownLatch(1);
        interrupt(() -> latchOk = 1, latch::await, () -> latchOk++);
        Semaphore semaphore = new Semaphore(0);
        interrupt(() -> semaphoreOk = 1, semaphore::acquire, () -> semaphoreOk++);
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        interrupt(() -> conditionOk = 1, () -> {
            lock.lock();
            try {
                condition.await();
            } finally {
                lock.unlock();
            }
        }, () -> conditionOk++);
        lock.lock();
        interrupt(() -> lockOk = 1, lock::lockInterruptibly, () -> lockOk++);
        lock.unlock();
        CompletableFuture<String> never = new CompletableFuture<>();
        interrupt(() -> getOk = 1, never::get, () -> getOk++);
        Object monitor = new Object();
        interrupt(() -> waitOk = 1, () -> {
            synchronized (monitor) {
                monitor.wait();
            }
        }, () -> waitOk++);
        CyclicBarrier barrier = new CyclicBarrier(2);
        interrupt(() -> barrierOk = 1, barrier::await, () -> barrierOk++);
        interrupt(() -> joinOk = 1, () -> Thread.currentThread().join(), () -> joinOk++);
        interrupt(() -> joinOk = 1, () -> Thread.currentThread().join(20_000), () -> joinOk++);
        BlockingDeque<String> deque = new LinkedBlockingDeque<>(1);
        interrupt(() -> dequeOk = 1, deque::takeLast, () -> dequeOk++);
        interrupt(() -> dequeOk = 1, () -> deque.pollFirst(20, TimeUnit.SECONDS), () -> dequeOk++);
        deque.add("full");
        interrupt(() -> dequeOk = 1, () -> deque.putFirst("more"), () -> dequeOk++);
        interrupt(() -> dequeOk = 1, () -> deque.offer("more", 20, TimeUnit.SECONDS), () -> dequeOk++);
        LinkedTransferQueue<String> transfers = new LinkedTransferQueue<>();
        interrupt(() -> transferOk = 1, () -> transfers.transfer("nobody"), () -> transferOk++);
        Exchanger<String> exchanger = new Exchanger<>();
        interrupt(() -> exchangeOk = 1, () -> exchanger.exchange("nobody"), () -> exchangeOk++);
        Phaser phaser = new Phaser(1);
        interrupt(() -> phaseOk = 1, () -> phaser.awaitAdvanceInterruptibly(0), () -> phaseOk++);
        StampedLock stamped = new StampedLock();
        long stamp = stamped.writeLock();
        interrupt(() -> stampedOk = 1, stamped::readLockInterruptibly, () -> stampedOk++);
        interrupt(() -> stampedOk = 1, () -> stamped.tryWriteLock(20, TimeUnit.SECONDS), () -> stampedOk++);
        stamped.unlockWrite(stamp);
        lock.lock();
        interrupt(() -> timedOk = 1, () -> lock.tryLock(20, TimeUnit.SECONDS), () -> timedOk++);
        lock.unlock();
        interrupt(() -> timedOk = 1, () -> semaphore.tryAcquire(20, TimeUnit.SECONDS), () -> timedOk++);
        interrupt(() -> timedOk = 1, () -> latch.await(20, TimeUnit.SECONDS), () -> timedOk++);
    }

    static void collectors() throws Exception {
        List<Item> items = new ArrayList<>();
        for (int i = 0; i < 512; i++) {
            items.add(new Item(i));
        }
        items.parallelStream().collect(Collectors.groupingBy(item -> item.groupedOk));
        items.parallelStream().collect(Collectors.partitioningBy(item -> item.partitionedOk > 0));
        items.parallelStream().collect(Collectors.toMap(item -> item.number + item.mappedOk, item -> item.mappedOk));
        items.parallelStream().collect(Collectors.groupingBy(item -> item.number % 2,
                Collectors.mapping(item -> item.nestedOk, Collectors.toList())));
        items.parallelStream().collect(Collectors.groupingByConcurrent(item -> item.concurrentOk));
        for (Item item : items) {
            item.groupedOk = 1;
            item.partitionedOk = 1;
            item.mappedOk = 1;
            item.nestedOk = 1;
            item.concurrentOk = 1;
        }
        Thread other = start(() -> items.parallelStream().collect(Collectors.groupingBy(item -> item.groupedRacy)));
        for (Item item : items) {
            item.groupedRacy = 1;
        }
        other.join();
    }

    public static void main(String[] arguments) throws Exception {
        hashMaps();
        skipLists();
        queues();
        copies();
        MoreOrders all = new MoreOrders();
        all.failures();
        all.functions();
        all.pools();
        all.publishers();
        all.stages();
        all.interrupts();
        collectors();
        System.out.println("done");
    }
}

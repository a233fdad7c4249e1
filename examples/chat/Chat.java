package chat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A room with a virtual thread for each guest (Java 21 or later).
 *
 * <p>Messages are guarded by a ReentrantLock. The name of the last speaker is written outside of it.
 * Moving the assignment between lock and unlock repairs it.
 */
public final class Chat {
    private final Lock lock = new ReentrantLock();
    private final List<String> messages = new ArrayList<>();
    private String lastSpeaker = "nobody";

    public static void main(String[] arguments) {
        Chat chat = new Chat();
        try (ExecutorService guests = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int number = 0; number < 10; number++) {
                String name = "guest " + number;
                guests.submit(() -> chat.say(name, "hello"));
            }
        }
        System.out.println(chat.messages.size() + " messages, the last by " + chat.lastSpeaker);
    }

    private void say(String speaker, String message) {
        lock.lock();
        try {
            messages.add(speaker + ": " + message);
        } finally {
            lock.unlock();
        }
        lastSpeaker = speaker;
    }
}

package webserver;

import java.util.TreeMap;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Documents that clients put and get. */
final class DocumentStore {
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private final TreeMap<String, String> documents = new TreeMap<>();
    private int revision;

    int put(String name, String text) {
        lock.writeLock().lock();
        try {
            documents.put(name, text);
            revision++;
            return revision;
        } finally {
            lock.writeLock().unlock();
        }
    }

    String get(String name) {
        lock.readLock().lock();
        try {
            return documents.get(name);
        } finally {
            lock.readLock().unlock();
        }
    }

    int size() {
        lock.readLock().lock();
        try {
            return documents.size();
        } finally {
            lock.readLock().unlock();
        }
    }

    int revision() {
        lock.readLock().lock();
        try {
            return revision;
        } finally {
            lock.readLock().unlock();
        }
    }
}

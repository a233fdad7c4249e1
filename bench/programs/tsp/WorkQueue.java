package tsp;

/**
 * Beginnings that are still to be looked into, the most promising first: a binary heap under one lock.
 * It is over when it is empty and nobody works.
 */
final class WorkQueue {
    private TourElement[] heap = new TourElement[64];
    private int size;
    private int working;
    private int taken;

    synchronized void put(TourElement element) {
        if (size + 1 == heap.length) {
            TourElement[] larger = new TourElement[heap.length * 2];
            System.arraycopy(heap, 0, larger, 0, heap.length);
            heap = larger;
        }
        size++;
        int hole = size;
        while (hole > 1 && heap[hole / 2].bound > element.bound) {
            heap[hole] = heap[hole / 2];
            hole /= 2;
        }
        heap[hole] = element;
        notify();
    }

    /** Takes work, or returns null if there is and will be none. */
    synchronized TourElement take() throws InterruptedException {
        while (size == 0) {
            if (working == 0) {
                notifyAll();
                return null;
            }
            wait();
        }
        working++;
        taken++;
        TourElement first = heap[1];
        TourElement last = heap[size];
        heap[size] = null;
        size--;
        if (size > 0) {
            sink(last);
        }
        return first;
    }

    synchronized void done() {
        working--;
        if (working == 0 && size == 0) {
            notifyAll();
        }
    }

    synchronized int taken() {
        return taken;
    }

    private void sink(TourElement element) {
        int hole = 1;
        while (hole * 2 <= size) {
            int child = hole * 2;
            if (child < size && heap[child + 1].bound < heap[child].bound) {
                child++;
            }
            if (heap[child].bound >= element.bound) {
                break;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = element;
    }
}

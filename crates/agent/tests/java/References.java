import java.util.ArrayList;
import java.util.List;

/** What is made where, and what refers to it. */
public class References {
    static Node shared;
    Node own;

    static class Node {
        Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    class Inner {
        Node seen = own;
    }

    public static void main(String[] arguments) throws InterruptedException {
        References first = new References();
        first.fill();
        Node[] nodes = {new Node(null), null};
        nodes[1] = nodes[0];
        shared = nodes[1];
        List<Object> list = new ArrayList<>();
        list.add(first);
        Node[] none = null;
        try {
            none[0] = shared;
        } catch (NullPointerException expected) {
            none = new Node[0];
        }
        System.out.println(list.size() + none.length);
        Thread thread = new Escaping();
        thread.start();
        thread.join();
    }

    static class Escaping extends Thread {
        Node node = new Node(null);

        public void run() {
            node.next = null;
        }
    }

    void fill() {
        own = new Node(new Node(null));
        new Inner();
        int[][] numbers = new int[2][3];
        numbers[0] = new int[4];
    }
}

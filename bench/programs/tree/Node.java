package tree;

/** A key and how often it is there. Nodes are moved around, so nothing in them is final but what they are. */
final class Node {
    final int key;
    final int priority;
    int count = 1;
    Node left;
    Node right;

    Node(int key, int priority) {
        this.key = key;
        this.priority = priority;
    }
}

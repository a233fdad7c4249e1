package tree;

/** A binary search tree with a random priority in every node that keeps it flat (a treap). */
final class Tree {
    private Node root;
    private int size;

    void insert(int key, int priority) {
        root = insert(root, key, priority);
    }

    private Node insert(Node node, int key, int priority) {
        if (node == null) {
            size++;
            return new Node(key, priority);
        }
        if (key == node.key) {
            node.count++;
            return node;
        }
        if (key < node.key) {
            node.left = insert(node.left, key, priority);
            return node.left.priority > node.priority ? rotateRight(node) : node;
        }
        node.right = insert(node.right, key, priority);
        return node.right.priority > node.priority ? rotateLeft(node) : node;
    }

    private static Node rotateRight(Node node) {
        Node left = node.left;
        node.left = left.right;
        left.right = node;
        return left;
    }

    private static Node rotateLeft(Node node) {
        Node right = node.right;
        node.right = right.left;
        right.left = node;
        return right;
    }

    /** How often a key was inserted. */
    int count(int key) {
        Node node = root;
        while (node != null && node.key != key) {
            node = key < node.key ? node.left : node.right;
        }
        return node == null ? 0 : node.count;
    }

    long sum() {
        return sum(root);
    }

    private static long sum(Node node) {
        return node == null ? 0 : sum(node.left) + (long) node.key * node.count + sum(node.right);
    }

    int size() {
        return size;
    }
}

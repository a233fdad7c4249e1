/** 5,000 objects, each written when it is made and once more after a collection. */
public class Objects {
    static class Node {
        int value;
    }

    public static void main(String[] arguments) {
        Node[] nodes = new Node[5000];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = new Node();
            nodes[i].value = i;
        }
        System.gc();
        for (Node node : nodes) {
            node.value = 0;
        }
    }
}

package raytracer;

/** The picture. Workers write different rows. */
final class Image {
    private final int size;
    private final int[] pixels;

    Image(int size) {
        this.size = size;
        pixels = new int[size * size];
    }

    int size() {
        return size;
    }

    void set(int column, int row, int colour) {
        pixels[row * size + column] = colour;
    }

    long sum() {
        long sum = 0;
        for (int colour : pixels) {
            sum += (colour & 255) + ((colour >> 8) & 255) + (colour >> 16);
        }
        return sum;
    }

    int hash() {
        return java.util.Arrays.hashCode(pixels);
    }
}

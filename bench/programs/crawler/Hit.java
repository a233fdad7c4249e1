package crawler;

/** What an archive has found. */
record Hit(String archive, int document, String title, int score) implements Comparable<Hit> {
    @Override
    public int compareTo(Hit other) {
        int byScore = Integer.compare(other.score, score);
        if (byScore != 0) {
            return byScore;
        }
        int byArchive = archive.compareTo(other.archive);
        return byArchive != 0 ? byArchive : Integer.compare(document, other.document);
    }
}

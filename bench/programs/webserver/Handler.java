package webserver;

/** Answers requests of one path; called by all workers at once. */
@FunctionalInterface
interface Handler {
    void handle(Request request, Response response);
}

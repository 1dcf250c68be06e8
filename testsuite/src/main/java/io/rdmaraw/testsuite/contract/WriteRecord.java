package io.rdmaraw.testsuite.contract;

import io.netty.util.concurrent.Future;

/** A write with its content and the state of its promise. */
final class WriteRecord {
    static final String PENDING = "pending";

    final int id;
    final int length;
    private volatile String result = PENDING;
    volatile boolean withoutPromise;
    /** Number of progress reports, the last reported progress, and whether the progress ever decreased. */
    volatile int progressReports;
    volatile long progress;
    volatile boolean progressFell;

    WriteRecord(int id, int length) {
        this.id = id;
        this.length = length;
    }

    String result() {
        return result;
    }

    boolean isDone() {
        return withoutPromise || !result.equals(PENDING);
    }

    void complete(Future<?> future) {
        String now = future.isSuccess() ? "ok" : Failures.name(future.cause());
        result = result.equals(PENDING) ? now : result + "+again";
    }

    void progressed(long now) {
        progressFell |= now < progress;
        progress = now;
        progressReports++;
    }
}

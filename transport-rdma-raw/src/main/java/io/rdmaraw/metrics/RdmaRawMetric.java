package io.rdmaraw.metrics;

/**
 * A counter or gauge of a loop, queue or channel.
 *
 * @param name  of a drop or a copy the reason, such as {@code unregistered-memory}; else what is counted, such as
 *              {@code received.frames}
 * @param kind  what it measures
 * @param description one sentence
 */
public record RdmaRawMetric(String name, Kind kind, String description) {
    /** What a metric measures. */
    public enum Kind {
        /** Frames, datagrams or bytes that were received or sent. */
        TRAFFIC,
        /** Frames or datagrams that were lost; the name is the reason. */
        DROP,
        /** Frames that were copied; the name is the reason. */
        COPY,
        /** Errors, and recoveries from them. */
        ERROR,
        /** Polls, bursts, wake-ups: how the loop works. */
        WORK,
        /** Nanoseconds. */
        NANOS,
        /** A gauge: what there is now, such as flow rules. */
        LEVEL
    }
}

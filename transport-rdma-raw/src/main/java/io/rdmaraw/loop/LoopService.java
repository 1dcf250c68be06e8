package io.rdmaraw.loop;

/** What an event loop drives besides its queues and channels. For the loop's thread. */
public interface LoopService {
    /** Does what is due after a poll of the queues; returns whether there was anything. */
    boolean run();

    /** Returns when {@link #run()} has to be called again; {@link Long#MAX_VALUE} if only a frame can change that. */
    long nextDeadlineNanos();

    /** Tells whether the service has ended by itself, with the device that it served. */
    boolean isOver();

    /** The loop ends; its queues are still open. */
    void close();
}

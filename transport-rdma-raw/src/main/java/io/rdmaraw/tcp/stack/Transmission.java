package io.rdmaraw.tcp.stack;

import io.netty.util.concurrent.SingleThreadEventExecutor;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.loop.LoopTasks;

/**
 * Decides when a stack transmits its segments. One state machine, used on the loop's thread only:
 *
 * <pre>
 *                     flush within a read
 *            IDLE ───────────────────────────► PENDING
 *            ▲ │ │                                │ end of the turn
 *            │ │ │ flush by a task                ▼
 *   all sent │ │ └────────────────────────► TRANSMITTING ◄──────► BLOCKED
 *            │ │                            ▲     │   no room, room again
 *            └─┼────────────────────────────┼─────┘
 *              │ shared flush               │ no more tasks flush, or the turn begins
 *              └──────────► SCHEDULED ──────┘
 *
 *   PENDING ── shared flush ──► SCHEDULED
 *   all states ── the queue is gone ──► ENDED
 * </pre>
 *
 * <p>A flush during the reads of a turn waits for the end of the turn, so that all channels share doorbells. A flush by
 * a task transmits before it returns, because the task may block afterwards. If the channel consolidates flushes
 * ({@code RdmaRawChannelOption.FLUSH_CONSOLIDATION}), the flush waits for the tasks behind it, at most
 * {@value #MAX_CONSOLIDATED_FLUSHES} flushes.
 *
 * <p>In BLOCKED a flush retries the transmission, too. The state remains BLOCKED until {@link #onSendRoom}, even if the
 * retry sends everything. PENDING and SCHEDULED do not record whether there is unsent data; the engine's deadline does.
 * The turn transmits when that deadline is due, in any state.
 */
final class Transmission implements Runnable {
    /** Maximum number of flushes that share a doorbell. It bounds the delay of the first. */
    private static final int MAX_CONSOLIDATED_FLUSHES = 32;
    private static final int MAX_DELAYED_FINS = 16;

    private enum State { IDLE, PENDING, SCHEDULED, TRANSMITTING, BLOCKED, ENDED }

    private final TcpStack stack;
    private final SegmentSender sender;
    private final ThreadAwareExecutor loop;
    private State state = State.IDLE;
    /** Set while the reads of a channel are delivered; flushes are deferred then. */
    private boolean reading;
    private int consolidatedFlushes;
    /** Value of {@link #consolidatedFlushes} when this task was last enqueued. */
    private int consolidatedFlushesAtEnqueue;
    /** Whether this task is in the loop's task queue. */
    private boolean enqueued;
    /** Number of connections that ended their output while others wait to be read. */
    private int delayedFins;

    Transmission(TcpStack stack, SegmentSender sender, ThreadAwareExecutor loop) {
        this.stack = stack;
        this.sender = sender;
        this.loop = loop;
    }

    boolean isBlocked() {
        return state == State.BLOCKED;
    }

    /** Returns whether a flush is deferred until the end of the turn. */
    boolean isPending() {
        return state == State.PENDING;
    }

    boolean isScheduled() {
        return state == State.SCHEDULED;
    }

    boolean isReading() {
        return reading;
    }

    /** Begins the reads of a channel. Reads may nest; pass the returned state to {@link #endReading}. */
    boolean beginReading() {
        boolean wasReading = reading;
        reading = true;
        return wasReading;
    }

    void endReading(boolean wasReading) {
        reading = wasReading;
    }

    /** Returns whether a shared flush would be deferred until other tasks have run. */
    boolean mayDeferShared() {
        return !reading && state != State.ENDED && hasOtherTasks();
    }

    private boolean hasOtherTasks() {
        return loop instanceof SingleThreadEventExecutor tasks && tasks.pendingTasks() > (enqueued ? 1 : 0);
    }

    /**
     * Transmits or defers after a flush of a channel.
     *
     * @param shared whether the channel consolidates flushes
     */
    void flush(boolean shared) {
        if (reading) {
            state = state == State.IDLE ? State.PENDING : state;
        } else if (!shared || !deferShared()) {
            transmit(System.nanoTime());
        }
    }

    private boolean deferShared() {
        if (state != State.IDLE && state != State.PENDING && state != State.SCHEDULED
                || ++consolidatedFlushes >= MAX_CONSOLIDATED_FLUSHES) {
            return false;
        }
        state = State.SCHEDULED;
        if (!enqueued) {
            enqueueBehindTasks();
        }
        return true;
    }

    /**
     * Enqueues this task behind the present tasks of the loop. As long as further flushes follow, it is enqueued again.
     */
    private void enqueueBehindTasks() {
        enqueued = true;
        consolidatedFlushesAtEnqueue = consolidatedFlushes;
        LoopTasks.executeOrElse(loop, this, this);
    }

    /** Transmits when the tasks behind a shared flush have run. */
    @Override
    public void run() {
        enqueued = false;
        if (state != State.SCHEDULED) {
            return;
        }
        if (consolidatedFlushes > consolidatedFlushesAtEnqueue && hasOtherTasks()) {
            enqueueBehindTasks();
        } else {
            transmit(System.nanoTime());
        }
    }

    /**
     * Handles the end of a channel's output. If other channels have not read the burst yet, the FIN waits, so that all
     * FINs share a doorbell. After {@value #MAX_DELAYED_FINS} channels the FINs are sent, but not the ACKs for channels
     * that have yet to read.
     *
     * @param othersWait whether other channels have not read the burst yet
     */
    void flushFin(boolean othersWait) {
        if (!othersWait) {
            flush(false);
        } else if (++delayedFins >= MAX_DELAYED_FINS && !reading) {
            delayedFins = 0;
            send(System.nanoTime(), true);
        }
    }

    /** Sends all segments of the engine, as far as there is room. */
    void transmit(long now) {
        delayedFins = 0;
        consolidatedFlushes = 0;
        send(now, false);
    }

    private void send(long now, boolean deliveredOnly) {
        if (state == State.TRANSMITTING || state == State.ENDED) {
            return;
        }
        State before = state;
        state = State.TRANSMITTING;
        boolean room = true;
        try {
            room = sender.send(now, deliveredOnly);
        } finally {
            state = !room ? State.BLOCKED : deliveredOnly || before == State.BLOCKED ? before : State.IDLE;
        }
        if (!room && before != State.BLOCKED) {
            stack.deviceQueue().notifyWhenRoom(stack);
        }
    }

    /** Continues after the device has accepted frames. */
    void onSendRoom() {
        if (state == State.BLOCKED) {
            state = State.IDLE;
        }
        transmit(System.nanoTime());
    }

    /** Ends transmission, because the queue or the loop has ended. */
    void end() {
        state = State.ENDED;
    }
}

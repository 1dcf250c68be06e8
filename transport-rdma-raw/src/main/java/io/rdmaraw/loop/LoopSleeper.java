package io.rdmaraw.loop;

import io.netty.channel.IoHandlerContext;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Blocks a loop until a completion event, an asynchronous event, a wake-up or a timer.
 *
 * <p>No wake-up is lost. The loop announces its sleep with a compare-and-set and checks its tasks once more
 * before it blocks. A waker that finds the loop blocked makes a descriptor readable. A waker that finds it
 * awake sets a mark, which prevents the next announcement ({@link SleepState}).
 */
public final class LoopSleeper implements AutoCloseable {
    private static final long LATE_SIGNAL_TIMEOUT_NANOS = 1_000_000_000L;
    /** The bit of the wake-up descriptor in {@link #readyBits}. */
    private static final int WAKEUP_BIT = 1;

    private final NioLoop nio;
    private final SleepState state = new SleepState();
    private final EventFd wakeupFd = new EventFd();
    private int[] queueFds = {};
    private int asyncBits;
    private int descriptorBit;
    private int readyBits;
    private FdWaiter waiter = new FdWaiter(wakeupFd.fd());
    private CompletionWatcher completionWatcher;
    /** Set if a waker found the loop blocked and the loop has not seen its signal yet. */
    private boolean signalOutstanding;

    public LoopSleeper(NioLoop nio) {
        this.nio = nio;
    }

    /**
     * Sets the descriptors to wait for.
     *
     * @param asyncEventFds descriptors of asynchronous events; queues on one device have the same descriptor
     * @param completionFds   descriptors of completion channels
     * @param descriptorFd    the descriptor of {@link LoopDescriptors}, or -1
     */
    public void watch(int[] asyncEventFds, int[] completionFds, int descriptorFd) {
        Set<Integer> asyncFds = new LinkedHashSet<>();
        IntStream.of(asyncEventFds).forEach(asyncFds::add);
        Set<Integer> fds = new LinkedHashSet<>();
        IntStream.of(completionFds).forEach(fds::add);
        // The bits of the asynchronous events follow the bit of the wake-up descriptor.
        asyncBits = (1 << asyncFds.size()) - 1 << 1;
        descriptorBit = 0;
        if (descriptorFd >= 0) {
            fds.add(descriptorFd);
            descriptorBit = 1 << asyncFds.size() + fds.size();
        }
        queueFds = Stream.concat(asyncFds.stream(), fds.stream()).mapToInt(Integer::intValue).toArray();
        int[] allFds = new int[queueFds.length + 1];
        allFds[0] = wakeupFd.fd();
        System.arraycopy(queueFds, 0, allFds, 1, queueFds.length);
        waiter.close();
        waiter = new FdWaiter(allFds);
        closeCompletionWatcher();
    }

    /** Returns whether a wake-up has arrived since the last {@link #clearWoken()}. */
    public boolean isWoken() {
        return state.isWoken();
    }

    public void clearWoken() {
        state.clearWoken();
    }

    /** Wakes the loop. May be called on any thread. */
    public void wakeup() {
        switch (state.wake()) {
            case SleepState.BLOCKED -> wakeupFd.signal();
            case SleepState.BLOCKED_IN_SELECTOR -> nio.wakeup();
            default -> {
                // The loop is awake and will see the mark, or another thread has woken it.
            }
        }
    }

    /**
     * Blocks until there is work, or returns at once if there is already.
     *
     * @param nowNanos      the current {@link System#nanoTime()}
     * @param deadlineNanos latest time to return, in terms of {@link System#nanoTime()}; {@link Long#MAX_VALUE}
     *                      for no limit
     */
    public void sleep(IoHandlerContext context, long nowNanos, long deadlineNanos) {
        readyBits = 0;
        if (nio.hasHandles()) {
            sleepInSelector(context, deadlineNanos);
        } else {
            sleepInPoll(context, nowNanos, deadlineNanos);
        }
    }

    /** Returns whether an asynchronous event may have ended the sleep. */
    public boolean isAsyncReady() {
        return (readyBits & asyncBits) != 0;
    }

    /**
     * Returns whether a completion event may have ended the sleep. An event that was missed ends the next
     * sleep.
     */
    public boolean isCompletionReady() {
        return (readyBits & ~(WAKEUP_BIT | asyncBits | descriptorBit)) != 0;
    }

    /** Returns whether a kernel socket may have ended the sleep. */
    public boolean isDescriptorReady() {
        return (readyBits & descriptorBit) != 0;
    }

    private void sleepInPoll(IoHandlerContext context, long nowNanos, long deadlineNanos) {
        if (!beginBlocking(SleepState.BLOCKED, context)) {
            return;
        }
        readyBits = waiter.await(Math.min(context.delayNanos(nowNanos), Math.max(0, deadlineNanos - nowNanos)));
        if (state.endBlocking()) {
            signalOutstanding = true;
        }
        if ((readyBits & WAKEUP_BIT) != 0 && wakeupFd.drain()) {
            signalOutstanding = false;
        }
    }

    private void sleepInSelector(IoHandlerContext context, long deadlineNanos) {
        if (queueFds.length > 0) {
            if (completionWatcher == null) {
                completionWatcher = new CompletionWatcher(queueFds, this::wakeup);
            }
            completionWatcher.watch();
        }
        if (!beginBlocking(SleepState.BLOCKED_IN_SELECTOR, context)) {
            return;
        }
        nio.run(context, deadlineNanos);
        state.endBlocking();
        // The watcher does not report which descriptor was ready, so assume all.
        readyBits = ~WAKEUP_BIT;
    }

    private boolean beginBlocking(int blockedState, IoHandlerContext context) {
        if (!state.beginBlocking(blockedState)) {
            return false;
        }
        if (!context.canBlock()) {
            if (state.endBlocking() && blockedState == SleepState.BLOCKED) {
                signalOutstanding = true;
            }
            return false;
        }
        return true;
    }

    private void closeCompletionWatcher() {
        if (completionWatcher != null) {
            completionWatcher.close();
            completionWatcher = null;
        }
    }

    @Override
    public void close() {
        state.close();
        closeCompletionWatcher();
        if (signalOutstanding) {
            // A waker may have found the loop blocked but not written to the descriptor yet. Wait for its write.
            // Otherwise the number of the closed descriptor could be reused, and the waker would write to another
            // file.
            waiter.await(LATE_SIGNAL_TIMEOUT_NANOS);
        }
        waiter.close();
        wakeupFd.close();
    }
}

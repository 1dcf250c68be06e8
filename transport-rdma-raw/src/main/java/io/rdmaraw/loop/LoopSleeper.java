package io.rdmaraw.loop;

import io.netty.channel.IoHandlerContext;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Lets a loop sleep until a completion event, an asynchronous event, a wake-up or a timer.
 *
 * <p>No wake-up is lost: the loop announces its sleep with a compare-and-set and checks its tasks again before it
 * blocks; a waker that finds it blocked makes the descriptor readable, one that finds it awake leaves a mark that the
 * loop sees before it announces ({@link SleepState}).
 */
public final class LoopSleeper implements AutoCloseable {
    private static final long LATE_WAKER_NANOS = 1_000_000_000L;
    /** The position of the wake-up descriptor among those waited for. */
    private static final int WAKEUP_BIT = 1;

    private final NioLoop nio;
    private final SleepState state = new SleepState();
    private final EventFd wakeupFd = new EventFd();
    private int[] portFds = {};
    private int asyncBits;
    private int descriptorBit;
    private int readyBits;
    private FdWaiter waiter = new FdWaiter(wakeupFd.fd());
    private CompletionWatcher portWatcher;
    /** A waker has seen the loop blocked and signals, or has signalled, without the loop having seen it. */
    private boolean signalOutstanding;

    public LoopSleeper(NioLoop nio) {
        this.nio = nio;
    }

    /**
     * Waits for these descriptors from now on.
     *
     * @param asyncFdsOfPorts descriptors of the devices' asynchronous events; ports of one device share one
     * @param completionFds descriptors of the completion channels
     * @param descriptorFd that of the {@link LoopDescriptors}, or -1
     */
    public void watch(int[] asyncFdsOfPorts, int[] completionFds, int descriptorFd) {
        Set<Integer> asyncFds = new LinkedHashSet<>();
        IntStream.of(asyncFdsOfPorts).forEach(asyncFds::add);
        Set<Integer> fds = new LinkedHashSet<>();
        IntStream.of(completionFds).forEach(fds::add);
        // After the wake-up descriptor's bit come those of the asynchronous events.
        asyncBits = (1 << asyncFds.size()) - 1 << 1;
        descriptorBit = 0;
        if (descriptorFd >= 0) {
            fds.add(descriptorFd);
            descriptorBit = 1 << asyncFds.size() + fds.size();
        }
        portFds = Stream.concat(asyncFds.stream(), fds.stream()).mapToInt(Integer::intValue).toArray();
        int[] all = new int[portFds.length + 1];
        all[0] = wakeupFd.fd();
        System.arraycopy(portFds, 0, all, 1, portFds.length);
        waiter.close();
        waiter = new FdWaiter(all);
        closePortWatcher();
    }

    /** Tells whether a wake-up has come since the last call of {@link #clearWoken()}. */
    public boolean isWoken() {
        return state.isWoken();
    }

    public void clearWoken() {
        state.clearWoken();
    }

    /** Called from any thread. */
    public void wakeup() {
        switch (state.wake()) {
            case SleepState.BLOCKED -> wakeupFd.signal();
            case SleepState.BLOCKED_IN_SELECTOR -> nio.wakeup();
            default -> {
                // It is awake, and sees the mark, or another thread has woken it.
            }
        }
    }

    /**
     * Blocks until there is something to do, unless there is already.
     *
     * @param nowNanos      the time, as {@link System#nanoTime()}, which the caller has just asked for
     * @param deadlineNanos when to wake at the latest, as {@link System#nanoTime()}; {@link Long#MAX_VALUE} for never
     */
    public void sleep(IoHandlerContext context, long nowNanos, long deadlineNanos) {
        readyBits = 0;
        if (nio.hasHandles()) {
            sleepInSelector(context, deadlineNanos);
        } else {
            sleepInPoll(context, nowNanos, deadlineNanos);
        }
    }

    /** Tells whether a device's asynchronous events may have ended the sleep. */
    public boolean isAsyncReady() {
        return (readyBits & asyncBits) != 0;
    }

    /** Tells whether a completion event may have ended the sleep; an event that was not seen ends the next one. */
    public boolean isPortReady() {
        return (readyBits & ~(WAKEUP_BIT | asyncBits | descriptorBit)) != 0;
    }

    /** Tells whether one of the kernel's sockets may have ended the sleep. */
    public boolean isDescriptorReady() {
        return (readyBits & descriptorBit) != 0;
    }

    private void sleepInPoll(IoHandlerContext context, long nowNanos, long deadlineNanos) {
        if (!announce(SleepState.BLOCKED, context)) {
            return;
        }
        readyBits = waiter.await(Math.min(context.delayNanos(nowNanos), Math.max(0, deadlineNanos - nowNanos)));
        if (state.awake()) {
            signalOutstanding = true;
        }
        if ((readyBits & WAKEUP_BIT) != 0 && wakeupFd.drain()) {
            signalOutstanding = false;
        }
    }

    private void sleepInSelector(IoHandlerContext context, long deadlineNanos) {
        if (portFds.length > 0) {
            if (portWatcher == null) {
                portWatcher = new CompletionWatcher(portFds, this::wakeup);
            }
            portWatcher.watch();
        }
        if (!announce(SleepState.BLOCKED_IN_SELECTOR, context)) {
            return;
        }
        nio.run(context, deadlineNanos);
        state.awake();
        // The watcher does not say what it saw.
        readyBits = ~WAKEUP_BIT;
    }

    private boolean announce(int blocked, IoHandlerContext context) {
        if (!state.announce(blocked)) {
            return false;
        }
        if (!context.canBlock()) {
            if (state.awake() && blocked == SleepState.BLOCKED) {
                signalOutstanding = true;
            }
            return false;
        }
        return true;
    }

    private void closePortWatcher() {
        if (portWatcher != null) {
            portWatcher.close();
            portWatcher = null;
        }
    }

    @Override
    public void close() {
        state.close();
        closePortWatcher();
        if (signalOutstanding) {
            // The waker has won the exchange but may not have written yet; the descriptor must not be closed, and its
            // number given to another file, before it has.
            waiter.await(LATE_WAKER_NANOS);
        }
        waiter.close();
        wakeupFd.close();
    }
}

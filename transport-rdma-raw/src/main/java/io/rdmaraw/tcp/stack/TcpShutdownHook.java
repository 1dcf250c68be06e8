package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.loop.LastShutdownHook;
import io.rdmaraw.verbs.DeviceName;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Closes the connections of all open stacks when the JVM exits, as a kernel does. Otherwise idle peers would not be
 * notified. A shutdown hook exists while stacks are open. Thread-safe.
 */
final class TcpShutdownHook {
    /** System property with the time that peers have to acknowledge, in milliseconds; 0 for no hook. */
    static final String TIMEOUT_PROPERTY = "io.rdmaraw.exitTimeoutMillis";
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(TcpShutdownHook.class);
    private static final long TIMEOUT_MILLIS = Math.max(0, Long.getLong(TIMEOUT_PROPERTY, 500));
    /** Additional time for loops that are busy when the JVM exits. */
    private static final long BUSY_MILLIS = 1_500;
    private static final long POLL_MILLIS = 1;
    private static final Set<TcpStack> STACKS = new LinkedHashSet<>();
    /** Null while no stack is open, so that the JVM holds no reference to this class. */
    private static LastShutdownHook hook;

    private TcpShutdownHook() {
    }

    static void stackOpened(TcpStack stack) {
        if (TIMEOUT_MILLIS > 0 && !new DeviceName(stack.deviceQueue().device().name()).isLoopback()) {
            add(stack);
        }
    }

    static synchronized void add(TcpStack stack) {
        STACKS.add(stack);
        if (hook == null) {
            LastShutdownHook added = new LastShutdownHook("rdma-raw-exit", TcpShutdownHook::closeConnections);
            try {
                Runtime.getRuntime().addShutdownHook(added);
                hook = added;
            } catch (IllegalStateException e) {
                LOGGER.debug("the JVM is shutting down; it accepts no hook for the connections of a new loop", e);
            }
        }
    }

    static synchronized void stackClosed(TcpStack stack) {
        if (STACKS.remove(stack) && STACKS.isEmpty() && hook != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                LOGGER.debug("the JVM is shutting down; the hook remains and finds no open stack", e);
            }
            hook = null;
        }
    }

    /** Returns the registered hook; null while there is none. */
    static synchronized Thread hook() {
        return hook;
    }

    private static synchronized List<TcpStack> openStacks() {
        return List.copyOf(STACKS);
    }

    /** Closes the connections of all stacks. Blocked loops do not prevent the exit. */
    static void closeConnections() {
        List<TcpStack> stacks = openStacks();
        CountDownLatch pending = new CountDownLatch(stacks.size());
        for (TcpStack stack : stacks) {
            stack.executeOrElse(() -> {
                closeConnections(stack);
                awaitDelivery(stack, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS), pending);
            }, pending::countDown);
        }
        try {
            if (!pending.await(TIMEOUT_MILLIS + BUSY_MILLIS, TimeUnit.MILLISECONDS)) {
                LOGGER.warn("the process ends while {} event loops are blocked or shut down; peers of theirs may not be"
                        + " notified", pending.getCount());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void closeConnections(TcpStack stack) {
        if (!stack.isClosed()) {
            // A connection with unread data is reset. A kernel would already have sent its written data.
            stack.flushNow();
            stack.engine().closeAll(connection -> {
                if (connection.attachment() instanceof TcpTransport transport) {
                    transport.abandon();
                }
            });
            stack.flushNow();
        }
    }

    /** Waits until the peers have acknowledged all data and the FINs. Resets the remaining ones after the deadline. */
    private static void awaitDelivery(TcpStack stack, long deadlineNanos, CountDownLatch pending) {
        if (stack.hasUndeliveredOrphans() && System.nanoTime() - deadlineNanos < 0) {
            stack.eventLoop().schedule(() -> awaitDelivery(stack, deadlineNanos, pending), POLL_MILLIS,
                    TimeUnit.MILLISECONDS).addListener(check -> {
                        // A loop that shuts down cancels its timers. It delivers and resets by itself.
                        if (check.isCancelled()) {
                            stack.whenReleased(pending::countDown);
                        }
                    });
            return;
        }
        if (stack.hasUndeliveredOrphans()) {
            stack.engine().shutdown();
            stack.flushNow();
        }
        pending.countDown();
    }
}

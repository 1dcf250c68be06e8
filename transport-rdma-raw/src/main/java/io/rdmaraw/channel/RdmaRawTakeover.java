package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.netty.util.internal.UnstableApi;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.net.takeover.TakeoverListener;
import io.rdmaraw.net.takeover.TakeoverMessage;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.PortHandover.Role;

import java.io.IOException;
import java.net.BindException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * Rolling restarts: a process takes over the listening TCP ports of the one before, on the same device and addresses,
 * without a refused or reset connection. Connections that exist stay with the process before until they end.
 *
 * <p>The processes find each other by a Unix socket, which only their user may connect to:
 *
 * <pre>{@code
 * RdmaRawTakeover takeover = RdmaRawTakeover.open(Path.of("/run/www/takeover.sock"));
 * RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().ipDevice("soft:packet:eth1")
 *         .takeover(takeover).build();
 * // ... bind the servers on loops with this configuration ...
 * takeover.begin(listener);
 * }</pre>
 *
 * <p>From {@link #begin} on this process opens the connections, and the one before is told so
 * ({@link Listener#handedOver}). That lets its connections end ({@link #awaitDrained}), and then ends itself. Whichever
 * of the two is killed, at any moment, the other one serves.
 *
 * <p>It works where two processes have a device at a time: {@code soft:packet:}, and {@code soft:xdp:} in mode
 * {@code tap}, with the kernel's addresses. UDP ports are not handed over. Thread-safe.
 */
@UnstableApi
public final class RdmaRawTakeover implements AutoCloseable {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawTakeover.class);
    private static final long COUNT_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** What a process hears of its successor. Called on a thread of the takeover, and to return soon. */
    public interface Listener {
        /**
         * Another process opens the connections from now on. Those of this one go on: it should ask its clients to end
         * them where the protocol can, keep its server channels open, wait until it is drained, and end.
         */
        void handedOver(long successorPid);

        /** That process has ended while this one is still there: this one opens connections again. */
        void resumed();
    }

    private final Path path;
    private final PortHandover handover = new PortHandover();
    private final List<TakeoverPort> ports = new CopyOnWriteArrayList<>();
    private final TcpSecrets secrets;
    private final long fastOpenKeyHigh;
    private final long fastOpenKeyLow;
    private final CompletableFuture<Void> serving = new CompletableFuture<>();
    private volatile TakeoverPredecessor predecessor;
    private TakeoverSuccessors successors;
    /** Is set under the lock of {@link #ports}. */
    private volatile boolean begun;

    private RdmaRawTakeover(Path path) throws IOException {
        this.path = path;
        predecessor = TakeoverPredecessor.find(path, handover);
        TcpSecrets given = predecessor == null ? null : predecessor.secrets();
        SecureRandom random = new SecureRandom();
        secrets = given != null ? given : new TcpSecrets(random);
        fastOpenKeyHigh = predecessor != null ? predecessor.fastOpenKeyHigh() : random.nextLong();
        fastOpenKeyLow = predecessor != null ? predecessor.fastOpenKeyLow() : random.nextLong();
    }

    /**
     * Looks for a process that serves. Where there is none, this process is the first.
     *
     * @param path of a Unix socket, in a directory that only the processes' user may write to
     * @throws IOException when there is one that does not hand over its ports, with the reason: it is another user's,
     *         it does not answer, or it is handing over already
     */
    public static RdmaRawTakeover open(Path path) throws IOException {
        TakeoverListener.requireSocketOrNothing(ObjectUtil.checkNotNull(path, "path"));
        return new RdmaRawTakeover(path);
    }

    /** Tells whether ports are taken over, or have been, from a process that is still there. */
    public synchronized boolean hasPredecessor() {
        return predecessor != null;
    }

    /**
     * Serves: takes over the ports that have been bound by now from the process before, and hands them over to the next
     * one when that comes. Returns when this process opens the connections; not to be called on an event loop.
     *
     * @param listener hears of the next process
     * @throws IOException when the process before goes on to serve, or the first process cannot make its socket; this
     *         one should then end. One that has taken over serves without a socket, and tries again to make it
     */
    public synchronized void begin(Listener listener) throws IOException {
        synchronized (ports) {
            if (begun) {
                throw new IllegalStateException("the takeover has begun already");
            }
            begun = true;
        }
        boolean takesOver = predecessor != null;
        if (takesOver) {
            takeOver();
        }
        serving.complete(null);
        successors = new TakeoverSuccessors(this, path, listener, takesOver);
    }

    private void takeOver() throws IOException {
        boolean there = false;
        try {
            there = predecessor.take(ports(), secrets);
            predecessor.closeDescriptors();
        } finally {
            // When it has failed, too: the process before hears of it by that, and waits for nothing.
            if (!there) {
                forgetPredecessor();
            }
        }
    }

    private void forgetPredecessor() {
        predecessor.close();
        predecessor = null;
    }

    /** Called again and again by the thread of {@link TakeoverSuccessors}. */
    synchronized void lookAtPredecessor() {
        if (predecessor != null && predecessor.hasEnded(0)) {
            LOGGER.info("process {}, whose ports this one has taken over, has ended", predecessor.pid());
            handover.role(Role.ALONE);
            forgetPredecessor();
        }
    }

    /**
     * Waits until no connection lives by the ports that were handed over, those included whose channels are closed and
     * whose last bytes are not acknowledged yet. Not to be called on an event loop, which has to count.
     *
     * @return false when some do after that time
     */
    public boolean awaitDrained(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (mayHaveConnections(deadline)) {
            if (deadline - System.nanoTime() <= 0) {
                return false;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            LockSupport.parkNanos(COUNT_INTERVAL_NANOS);
        }
        return true;
    }

    /** Has the loops count the connections by the ports. None is waited for beyond the deadline. */
    private boolean mayHaveConnections(long deadlineNanos) throws InterruptedException {
        List<CompletableFuture<Integer>> counts = ports.stream().map(TakeoverPort::connectionCount).toList();
        try {
            for (CompletableFuture<Integer> count : counts) {
                long leftNanos = Math.max(COUNT_INTERVAL_NANOS, deadlineNanos - System.nanoTime());
                if (count.get(leftNanos, TimeUnit.NANOSECONDS) > 0) {
                    return true;
                }
            }
            return false;
        } catch (TimeoutException e) {
            return true;
        } catch (ExecutionException e) {
            throw new IllegalStateException("the connections cannot be counted", e);
        }
    }

    /**
     * Returns a descriptor of the kernel's socket that the process before has on a port, which is the caller's; -1 when
     * it has none. On a loop, so it must not wait for {@link #begin}, which waits for the loops.
     */
    int claim(TakeoverMessage.Port port) throws IOException {
        TakeoverPredecessor before = predecessor;
        return before == null || begun ? -1 : before.claim(port);
    }

    /** Does something when this process serves: at once if it does, never if it comes to nothing. */
    void onceServing(Runnable task) {
        serving.thenRun(task);
    }

    /**
     * Offers a port.
     *
     * @param claimed whether it is the process before's
     * @throws BindException when it comes too late to be taken over: both processes would open its connections
     */
    void add(TakeoverPort port, boolean claimed) throws BindException {
        synchronized (ports) {
            if (claimed && begun) {
                throw new BindException("port " + port.description().number() + " was bound while begin() was called, "
                        + "and is not taken over: wait for bind() before");
            }
            ports.add(port);
        }
    }

    void remove(TakeoverPort port) {
        ports.remove(port);
    }

    List<TakeoverPort> ports() {
        return List.copyOf(ports);
    }

    PortHandover handover() {
        return handover;
    }

    TcpSecrets secrets() {
        return secrets;
    }

    long fastOpenKeyHigh() {
        return fastOpenKeyHigh;
    }

    long fastOpenKeyLow() {
        return fastOpenKeyLow;
    }

    /** Hands over no more. To be called last, when the event loops have ended: the successor then answers for all. */
    @Override
    public void close() {
        TakeoverSuccessors ending;
        synchronized (this) {
            ending = successors;
            successors = null;
        }
        if (ending != null) {
            ending.close();
        }
        synchronized (this) {
            if (predecessor != null) {
                forgetPredecessor();
            }
        }
    }
}

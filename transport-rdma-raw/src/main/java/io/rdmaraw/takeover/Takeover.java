package io.rdmaraw.takeover;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.kernel.KernelPort;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.stack.ListeningPort;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.PortHandover.Role;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
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
 * One process's side of a rolling restart: it takes over listening ports from the process that serves at a path, and
 * later offers them to the next process. Thread-safe.
 */
public final class Takeover implements AutoCloseable {
    /** The logger has the name of the public class, because log configurations refer to that class. */
    static final InternalLogger LOGGER = InternalLoggerFactory.getInstance("io.rdmaraw.channel.RdmaRawTakeover");
    private static final long COUNT_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final Path path;
    private final PortHandover handover = new PortHandover();
    private final List<TakeoverPort> ports = new CopyOnWriteArrayList<>();
    private final TcpSecrets secrets;
    private final long fastOpenKeyHigh;
    private final long fastOpenKeyLow;
    private final CompletableFuture<Void> serving = new CompletableFuture<>();
    private volatile TakeoverPredecessor predecessor;
    private SuccessorAcceptor acceptor;
    /** Whether {@link #begin} was called. Set under the lock of {@link #ports}. */
    private volatile boolean begun;

    private Takeover(Path path) throws IOException {
        this.path = path;
        predecessor = TakeoverPredecessor.find(path, handover);
        TcpSecrets inherited = predecessor == null ? null : predecessor.secrets();
        SecureRandom random = new SecureRandom();
        secrets = inherited != null ? inherited : new TcpSecrets(random);
        fastOpenKeyHigh = predecessor != null ? predecessor.fastOpenKeyHigh() : random.nextLong();
        fastOpenKeyLow = predecessor != null ? predecessor.fastOpenKeyLow() : random.nextLong();
    }

    /**
     * Connects to the process that serves at a path. If there is none, this process is the first.
     *
     * @param path path of the Unix socket; only the user of the processes may have write permission to its directory
     * @throws IOException if that process does not hand over its ports: it belongs to another user, does not answer,
     *         hands them over to another process, or has taken them over from one that still runs
     */
    public static Takeover open(Path path) throws IOException {
        TakeoverSocket.requireSocketOrAbsent(path);
        return new Takeover(path);
    }

    /** Returns whether there is a predecessor whose end was not noticed yet; see {@link #checkPredecessor}. */
    public synchronized boolean hasPredecessor() {
        return predecessor != null;
    }

    /**
     * Takes over the ports that are bound by now from the predecessor, if there is one. Then starts to offer this
     * process's ports to the next process. Returns when this process opens the connections. Must not be called on an
     * event loop.
     *
     * @param listener notified about the next process
     * @throws IOException if the predecessor continues to serve, or if there is none and the socket cannot be created;
     *         this process should then end. After a takeover a missing socket is no error: creating it is retried
     */
    public synchronized void begin(TakeoverListener listener) throws IOException {
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
        acceptor = new SuccessorAcceptor(this, path, listener, takesOver);
    }

    private void takeOver() throws IOException {
        boolean stillRuns = false;
        try {
            stillRuns = predecessor.takeOver(ports(), secrets);
            predecessor.closeDescriptors();
        } finally {
            // Also after a failure: the predecessor sees the end of the connection and stops waiting.
            if (!stillRuns) {
                closePredecessor();
            }
        }
    }

    private void closePredecessor() {
        predecessor.close();
        predecessor = null;
    }

    /** Checks whether the predecessor has ended. The thread of {@link SuccessorAcceptor} calls this periodically. */
    synchronized void checkPredecessor() {
        if (predecessor != null && predecessor.awaitEnd(0)) {
            LOGGER.info("process {} has ended; this process has taken over its ports", predecessor.pid());
            handover.role(Role.ALONE);
            closePredecessor();
        }
    }

    /**
     * Waits until the ports have no connections. A connection counts until its last bytes are acknowledged, even if its
     * channel is closed. Must not be called on an event loop, because the loops count the connections.
     *
     * @return false if connections remain after {@code timeout}, or if a loop does not answer
     */
    public boolean awaitDrained(Duration timeout) throws InterruptedException {
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        while (mayHaveConnections(deadlineNanos)) {
            if (deadlineNanos - System.nanoTime() <= 0) {
                return false;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            LockSupport.parkNanos(COUNT_INTERVAL_NANOS);
        }
        return true;
    }

    /** Returns whether the ports have connections; true also if a loop does not answer by the deadline. */
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
     * Duplicates the descriptor of the predecessor's kernel socket on a port; the caller closes it. Called on event
     * loops, so it must not wait for {@link #begin}, which waits for the loops.
     *
     * @return -1 if the predecessor does not offer the port
     */
    public int duplicateSocketOf(String device, InetSocketAddress local) throws IOException {
        TakeoverPredecessor before = predecessor;
        return before == null || begun ? -1 : before.duplicateSocketOf(
                new TakeoverMessage.Port(device, IpAddress.of(local.getAddress()), local.getPort()));
    }

    /** Runs a task when this process starts to serve: at once if it already does, never if the takeover fails. */
    public void whenServing(Runnable task) {
        serving.thenRun(task);
    }

    /**
     * Offers a port to the next process until the port is withdrawn.
     *
     * @param loop                 runs actions on the server's loop
     * @param kernelPort           the kernel's side of the server
     * @param device               name of the port's device
     * @param offeredByPredecessor whether the predecessor offers the port
     * @throws BindException if the takeover has begun without such a port: both processes would open its connections
     */
    public TakeoverPort offer(TakeoverPort.ServerLoop loop, KernelPort kernelPort, String device, ListeningPort port,
            boolean offeredByPredecessor) throws BindException {
        TakeoverPort offered = new TakeoverPort(this, loop, kernelPort, device, port);
        add(offered, offeredByPredecessor);
        return offered;
    }

    void add(TakeoverPort port, boolean offeredByPredecessor) throws BindException {
        synchronized (ports) {
            if (offeredByPredecessor && begun) {
                throw new BindException("port " + port.description().number() + " was bound while begin() was called, "
                        + "and is not taken over: wait for bind() before begin()");
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

    public PortHandover handover() {
        return handover;
    }

    public TcpSecrets secrets() {
        return secrets;
    }

    public long fastOpenKeyHigh() {
        return fastOpenKeyHigh;
    }

    public long fastOpenKeyLow() {
        return fastOpenKeyLow;
    }

    /** Stops offering ports. Call this last, after the event loops have ended: the successor then answers alone. */
    @Override
    public void close() {
        SuccessorAcceptor ending;
        synchronized (this) {
            ending = acceptor;
            acceptor = null;
        }
        if (ending != null) {
            ending.close();
        }
        synchronized (this) {
            if (predecessor != null) {
                closePredecessor();
            }
        }
    }
}

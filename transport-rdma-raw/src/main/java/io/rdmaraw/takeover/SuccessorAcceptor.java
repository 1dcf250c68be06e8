package io.rdmaraw.takeover;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.PortHandover.Role;
import io.rdmaraw.tcp.stack.TcpStack;

import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiPredicate;

/**
 * The predecessor's side of a takeover. A thread waits for the next process, hands over the ports to it, and takes them
 * back if that process ends.
 */
final class SuccessorAcceptor {
    private static final InternalLogger LOGGER = Takeover.LOGGER;
    private static final long RETRY_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long CHECK_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long QUERY_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Time limit for a JVM to open its device and bind. This process serves during the wait. */
    private static final long BIND_TIMEOUT_NANOS = TimeUnit.MINUTES.toNanos(2);
    /** A short limit, because no process accepts new connections during this wait. */
    private static final long SERVE_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final Takeover takeover;
    private final PortHandover handover;
    private final Path path;
    private final TakeoverListener listener;
    private final Thread thread;
    /** Null while the socket cannot be created; the thread retries. */
    private TakeoverSocket socket;
    private volatile boolean closed;

    /**
     * @param hasTakenOver whether this process has taken over ports. If so, it serves even if the socket cannot be
     *         created
     * @throws IOException if the socket cannot be created and {@code hasTakenOver} is false
     */
    SuccessorAcceptor(Takeover takeover, Path path, TakeoverListener listener, boolean hasTakenOver)
            throws IOException {
        this.takeover = takeover;
        this.path = path;
        this.listener = listener;
        handover = takeover.handover();
        if (hasTakenOver) {
            listen();
        } else {
            socket = TakeoverSocket.open(path);
        }
        thread = Thread.ofPlatform().daemon().name("rdma-raw-takeover").start(this::run);
    }

    private void run() {
        try {
            while (!closed) {
                takeover.checkPredecessor();
                if (socket != null) {
                    serveNext();
                } else if (!listenAgain()) {
                    LockSupport.parkNanos(CHECK_INTERVAL_NANOS);
                }
            }
        } finally {
            // Otherwise the next process could connect and would wait for an answer.
            if (socket != null) {
                socket.close();
            }
        }
    }

    /** Creates the socket for the next process. This process serves even if that fails. */
    private void listen() {
        try {
            socket = TakeoverSocket.open(path);
        } catch (IOException e) {
            LOGGER.error("cannot listen for a process that takes over the ports; retrying: {}", e.getMessage());
        }
    }

    private boolean listenAgain() {
        try {
            socket = TakeoverSocket.open(path);
            LOGGER.info("a process can take over the ports again");
            return true;
        } catch (IOException e) {
            // Already logged by listen().
            return false;
        }
    }

    private void serveNext() {
        TakeoverConnection successor;
        try {
            successor = socket.accept(CHECK_INTERVAL_NANOS);
        } catch (IOException e) {
            LOGGER.warn("a process cannot take over the ports: {}", e.getMessage());
            // If no descriptor is left, the process stays in the backlog: pause, so that the log does not fill up.
            LockSupport.parkNanos(RETRY_PAUSE_NANOS);
            return;
        }
        if (successor == null) {
            return;
        }
        List<TakeoverPort> handedOver = List.of();
        try (successor) {
            handedOver = handOverOrReject(successor);
            if (!handedOver.isEmpty()) {
                awaitEnd(successor);
            }
        } catch (IOException e) {
            LOGGER.warn("process {} has not taken over the ports: {}", successor.peerPid(), e.getMessage());
        }
        if (!handedOver.isEmpty() && !closed) {
            LOGGER.warn("process {} has ended after it took over the ports: this one serves again",
                    successor.peerPid());
            reclaimPorts(handedOver);
            listen();
            // Even if listen() has failed: otherwise this process would continue to shut down and none would serve.
            notifyUser(listener::resumed);
        }
    }

    /** If this process fails to hand over, only this takeover is lost: it continues to serve and to listen. */
    private List<TakeoverPort> handOverOrReject(TakeoverConnection successor) throws IOException {
        try {
            return handOver(successor);
        } catch (RuntimeException e) {
            // Without this message the successor would conclude from the closed connection that this process has ended.
            successor.trySend(new TakeoverMessage.Refusal("it has failed to hand over its ports: " + e));
            throw new IOException("the ports cannot be handed over: " + e, e);
        }
    }

    /** Returns the ports that the successor serves from now on; none if the takeover has failed. */
    private List<TakeoverPort> handOver(TakeoverConnection successor) throws IOException {
        requireType(TakeoverMessage.Hello.class, successor.receive(QUERY_TIMEOUT_NANOS));
        if (handover.role() != Role.ALONE) {
            successor.send(new TakeoverMessage.Refusal("it has taken them over itself, from a process that still has "
                    + "connections; try again when that has ended"));
            return List.of();
        }
        List<TakeoverPort> offered = takeover.ports();
        offer(successor, offered);
        List<TakeoverPort> handedOver = List.of();
        boolean done = false;
        try {
            TakeoverMessage answer = awaitTake(successor);
            if (answer == null) {
                return List.of();
            }
            List<Integer> portIndexes = requireType(TakeoverMessage.Take.class, answer).portIndexes();
            if (portIndexes.isEmpty() || portIndexes.stream().anyMatch(portIndex -> portIndex >= offered.size())) {
                throw new IOException("it has requested ports that were not offered");
            }
            handedOver = portIndexes.stream().map(offered::get).toList();
            handOver(successor, handedOver, offered);
            done = true;
        } finally {
            if (!done) {
                // Revoke first: if two processes answer a SYN, its connection is reset. A successor that was too slow
                // to bind also needs the message. Otherwise it would conclude from the closed connection that this
                // process has ended.
                successor.trySend(new TakeoverMessage.Revoked());
                reclaimPorts(handedOver);
            }
        }
        socket.closeKeepingFile();
        socket = null;
        LOGGER.info("process {} serves the ports now; connections of this process continue", successor.peerPid());
        notifyUser(() -> listener.handedOver(successor.peerPid()));
        return handedOver;
    }

    /** Calls the user's listener. Its exceptions must not end this thread, which the other process depends on. */
    private static void notifyUser(Runnable event) {
        try {
            event.run();
        } catch (RuntimeException e) {
            LOGGER.warn("a listener of the takeover has failed", e);
        }
    }

    private TakeoverMessage awaitTake(TakeoverConnection successor) throws IOException {
        long deadlineNanos = System.nanoTime() + BIND_TIMEOUT_NANOS;
        try {
            while (!successor.awaitReadable(CHECK_INTERVAL_NANOS)) {
                if (closed || deadlineNanos - System.nanoTime() <= 0) {
                    throw new IOException(closed ? "this process ends" : "it has not bound its ports in time");
                }
            }
            return successor.receive(0);
        } catch (EOFException e) {
            LOGGER.info("process {} has ended before it took over the ports; nothing has changed",
                    successor.peerPid());
            return null;
        }
    }

    private void offer(TakeoverConnection successor, List<TakeoverPort> offered) throws IOException {
        if (offered.isEmpty() || offered.size() > TakeoverMessage.MAX_PORTS) {
            String reason = "it has " + offered.size() + " ports; 1 to " + TakeoverMessage.MAX_PORTS
                    + " are handed over";
            successor.send(new TakeoverMessage.Refusal(reason));
            throw new IOException(reason);
        }
        TcpSecrets secrets = takeover.secrets();
        List<Integer> descriptors = new ArrayList<>();
        try {
            addDescriptors(offered, descriptors, successor);
            successor.send(new TakeoverMessage.Offer(secrets.key0(), secrets.key1(), takeover.fastOpenKeyHigh(),
                    takeover.fastOpenKeyLow(), System.nanoTime(),
                    offered.stream().map(TakeoverPort::description).toList()), descriptors);
        } finally {
            descriptors.forEach(Libc::close);
        }
        LOGGER.info("offers its ports to process {}", successor.peerPid());
    }

    /** On failure sends a refusal: otherwise the successor would conclude that this process has ended. */
    private static void addDescriptors(List<TakeoverPort> offered, List<Integer> descriptors,
            TakeoverConnection successor) throws IOException {
        try {
            for (TakeoverPort port : offered) {
                descriptors.add(port.duplicateKernelSocket());
            }
        } catch (IOException e) {
            successor.trySend(new TakeoverMessage.Refusal(e.getMessage()));
            throw e;
        }
    }

    private void handOver(TakeoverConnection successor, List<TakeoverPort> handedOver, List<TakeoverPort> offered)
            throws IOException {
        handover.startForwarding(
                handedOver.stream().map(port -> TakeoverPort.handoverPort(port.description())).toList(),
                forwardingTo(successor, handedOver, offered));
        TakeoverPort.awaitLoops(PortHandover.processReceived(stacksOf(handedOver)));
        for (TakeoverPort port : handedOver) {
            TakeoverPort.awaitLoops(port.suspend());
        }
        successor.send(new TakeoverMessage.Stopped(takeover.secrets().mayExpectCookie(System.nanoTime())));
        LOGGER.info("opens no more connections; process {} takes over", successor.peerPid());
        requireType(TakeoverMessage.Serving.class, successor.receive(SERVE_TIMEOUT_NANOS));
        handedOver.forEach(port -> port.setShared(true));
        // The queues may have frames that arrived before the successor served, or that only this process received.
        // Their loops are determined again, because a port may have moved since the offer.
        TakeoverPort.awaitLoops(PortHandover.processReceived(stacksOf(handedOver)));
        handover.role(Role.DRAINING);
        successor.send(new TakeoverMessage.Done());
    }

    private static BiPredicate<TcpStack, ByteBuf> forwardingTo(TakeoverConnection successor,
            List<TakeoverPort> handedOver, List<TakeoverPort> offered) {
        Map<TcpStack, Integer> portIndexes = new HashMap<>();
        // A loop that a port moves to later has no entry. Its frames get the index of a port that the successor has.
        int anyIndex = offered.indexOf(handedOver.getFirst());
        handedOver.forEach(port ->
                port.stacks().forEach(stack -> portIndexes.putIfAbsent(stack, offered.indexOf(port))));
        return (stack, frame) -> {
            byte[] bytes = new byte[frame.readableBytes()];
            frame.getBytes(frame.readerIndex(), bytes);
            // If the successor has ended or its socket is full, the frame counts as dropped and the peer retransmits.
            return successor.trySend(new TakeoverMessage.Frame(portIndexes.getOrDefault(stack, anyIndex), bytes));
        };
    }

    private static List<TcpStack> stacksOf(List<TakeoverPort> ports) {
        return ports.stream().flatMap(port -> port.stacks().stream()).distinct().toList();
    }

    private static <T extends TakeoverMessage> T requireType(Class<T> wanted, TakeoverMessage message)
            throws IOException {
        if (!wanted.isInstance(message)) {
            throw new IOException("it has sent " + message.getClass().getSimpleName() + " out of turn");
        }
        return wanted.cast(message);
    }

    private void reclaimPorts(List<TakeoverPort> handedOver) {
        handedOver.forEach(port -> attempt(port, () -> port.setShared(false)));
        handover.role(Role.ALONE);
        handedOver.forEach(port -> attempt(port, () -> TakeoverPort.awaitLoops(port.resume())));
    }

    private interface Step {
        void run() throws IOException;
    }

    /** Logs a failure, so that the other ports are still served. */
    private static void attempt(TakeoverPort port, Step step) {
        try {
            step.run();
        } catch (IOException | RuntimeException e) {
            LOGGER.error("cannot completely restore the service of {}", port.description(), e);
        }
    }

    private void awaitEnd(TakeoverConnection successor) {
        while (!closed) {
            if (successor.awaitReadable(CHECK_INTERVAL_NANOS) && successor.pollEnd()) {
                return;
            }
        }
    }

    /** Stops offering ports. A successor keeps the ports that it has. */
    void close() {
        closed = true;
        if (Thread.currentThread() != thread) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}

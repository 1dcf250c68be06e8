package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A connection of the TCP core with what belongs to it outside the core: its rules, its way through the network, and
 * what has come in since its channel last looked. For the thread of its stack's loop.
 */
final class TcpFlow {
    /** The stack whose rules bring the connection's segments. */
    private final TcpStack home;
    private final TcpPort port;
    /** The stack that the connection is on. Changes on that stack's loop, when the connection has arrived. */
    private volatile TcpStack stack;
    /** Where the connection is going; the same as {@link #stack} when it is there. */
    private volatile TcpStack target;
    private TcpConnection connection;
    private TcpPath path;
    /** Null before the connection has a channel and when the channel is closed. */
    private RdmaRawSocketChannel channel;
    private RdmaRawServerSocketChannel acceptor;
    private ArrayDeque<ByteBuf> received;
    /** Stacks besides {@link #home} that the connection's segments come to; null when there are none, or at the end. */
    private volatile Set<TcpStack> followers;
    private CloseReason closeReason;
    private long bytesRead;
    private boolean touched;
    /** The channel is closed: nobody will read what comes in. */
    private boolean orphaned;
    private boolean connected;
    private boolean peerFinished;
    /** The channel has more to write than the send buffer holds. */
    private boolean wantsSendRoom;
    private boolean hasSendRoom;

    TcpFlow(TcpStack stack, TcpPort port) {
        home = stack;
        this.stack = stack;
        target = stack;
        this.port = port;
    }

    TcpStack stack() {
        return stack;
    }

    TcpPort port() {
        return port;
    }

    TcpConnection connection() {
        return connection;
    }

    void connection(TcpConnection opened) {
        connection = opened;
    }

    /** Returns the way to the peer, found again when the network has changed; null when there is none. */
    TcpPath path(TcpNetwork network) {
        TcpPath current = path;
        if (current == null || current.generation() != network.generation()) {
            current = network.path(connection.localHigh(), connection.localLow(), connection.localPort(),
                    connection.remoteHigh(), connection.remoteLow(), connection.remotePort());
            path = current;
            if (current != null) {
                connection.limitMtu(current.mtuBytes());
            }
        }
        return current;
    }

    /** Returns the path of the segments so far; null if there is none, or routes have changed since. */
    TcpPath lastPath(TcpNetwork network) {
        return path == null || path.generation() != network.generation() ? null : path;
    }

    /** The flow was opened by this channel, on its loop. */
    void channel(RdmaRawSocketChannel opener) {
        channel = opener;
    }

    TcpStack target() {
        return target;
    }

    /**
     * The channel is on a loop now, whose stack is {@code destination}: the connection comes there too. Called on that
     * loop.
     */
    void attach(RdmaRawSocketChannel attaching, TcpStack destination) {
        onLoop(() -> {
            if (stack == destination) {
                arrive(attaching);
            } else {
                leaveFor(destination, attaching);
            }
        });
    }

    private void arrive(RdmaRawSocketChannel attaching) {
        if (!orphaned && attaching.loopStack() == stack) {
            channel = attaching;
            hasSendRoom = true;
            stack.touch(this);
        }
    }

    private void leaveFor(TcpStack destination, RdmaRawSocketChannel attaching) {
        TcpStack from = stack;
        boolean live = closeReason == null;
        target = destination;
        if (live) {
            from.moveOut(this);
        }
        destination.executeOrElse(() -> {
            stack = destination;
            if (live) {
                destination.moveIn(this);
            }
            arrive(attaching);
        }, () -> {
            // The loop has ended, and the channel with it.
            target = from;
            if (live) {
                from.moveIn(this);
                connection.abort();
            }
        });
    }

    /** Has something done on the loop that the connection is on. Any thread. */
    void onLoop(Runnable task) {
        TcpStack current = stack;
        if (!current.isOnLoop()) {
            current.execute(() -> onLoop(task));
        } else if (target != current) {
            // On its way, which is a task of the other loop already.
            target.execute(() -> onLoop(task));
        } else {
            task.run();
        }
    }

    /** The channel leaves its loop; what comes in meanwhile is kept. */
    void detach() {
        channel = null;
    }

    /** Tells whether the channel and the connection are on the same loop, as the one called on is. */
    boolean isAttached() {
        return channel != null;
    }

    /** The connection was accepted and waits for this channel to make a channel of it. */
    void acceptor(RdmaRawServerSocketChannel server) {
        acceptor = server;
    }

    boolean markTouched() {
        boolean first = !touched;
        touched = true;
        return first;
    }

    void markConnected() {
        connected = true;
    }

    void markPeerFinished() {
        peerFinished = true;
    }

    void markClosed(CloseReason reason) {
        closeReason = reason;
    }

    /** Keeps received bytes, of which the flow owns the reference, until the channel takes them. */
    void add(ByteBuf piece) {
        if (received == null) {
            received = new ArrayDeque<>(2);
        }
        received.add(piece);
    }

    /** Returns received bytes in order, with their reference; null when there are no more. */
    ByteBuf poll() {
        return received == null ? null : received.poll();
    }

    boolean isConnected() {
        return connected;
    }

    boolean isPeerFinished() {
        return peerFinished;
    }

    /** Returns why the connection is over, null while it is not. */
    CloseReason closeReason() {
        return closeReason;
    }

    /** The channel has more to write than there is room for; it is told when there is again. */
    void awaitSendRoom() {
        wantsSendRoom = true;
    }

    /** The peer has taken bytes; returns true if the channel waits for that and there is enough room now. */
    boolean noteAcked(int sendBufferBytes) {
        // As Linux does: a writer is woken when a third of the buffer is free.
        if (wantsSendRoom && connection.queuedBytes() <= sendBufferBytes - sendBufferBytes / 3) {
            wantsSendRoom = false;
            hasSendRoom = true;
            return true;
        }
        return false;
    }

    boolean takeSendRoom() {
        boolean room = hasSendRoom;
        hasSendRoom = false;
        return room;
    }

    int sendBufferBytes() {
        return channel == null ? 0 : channel.config().getSendBufferSize();
    }

    // ---- what the channel asks for ----

    /** Returns how many more bytes the send buffer takes; not above 0 when it is full. */
    int sendRoom() {
        return channel.config().getSendBufferSize() - connection.queuedBytes();
    }

    /** Sends a buffer's readable bytes and takes its reference. */
    void send(ByteBuf data) {
        connection.send(data);
    }

    /** The channel has read bytes: the peer may send as many more. */
    void read(int bytes) {
        connection.readWindowOpened(bytes);
        bytesRead += bytes;
    }

    /** Has something done to the connection on its loop. Any thread. */
    void withConnection(Consumer<TcpConnection> change) {
        onLoop(() -> change.accept(connection));
    }

    /** Sends FIN after what is queued. */
    void shutdownOutput() {
        onLoop(() -> {
            connection.shutdownOutput();
            stack.flush();
        });
    }

    /** Has what came in handed on. */
    void deliver() {
        touched = false;
        RdmaRawServerSocketChannel server = acceptor;
        if (server != null) {
            acceptor = null;
            server.accepted(this);
        }
        if (channel != null) {
            channel.flowChanged();
        } else if (orphaned) {
            dropReceived();
        }
    }

    /**
     * The channel is closed: the connection goes on without it as long as TCP needs. Any thread.
     *
     * @param reset whether the peer is to get a RST, as {@code SO_LINGER} 0 says
     */
    void closeByChannel(boolean reset) {
        onLoop(() -> close(reset));
    }

    private void close(boolean reset) {
        channel = null;
        acceptor = null;
        orphaned = true;
        if (reset) {
            // What was written is on its way by now with a kernel, and only what is not is dropped.
            stack.flushNow();
            connection.abort();
        } else {
            connection.close();
        }
        dropReceived();
        stack.flush();
    }

    /** The device leads the connection's segments to another stack now, which passes them on until the end. */
    void followedBy(TcpStack follower) {
        Set<TcpStack> all = new HashSet<>(followers == null ? Set.of() : followers);
        all.add(follower);
        followers = all;
    }

    /** Tells whether segments of the connection are to be passed on by stacks that were told so. Any thread. */
    boolean isFollowed() {
        return followers != null;
    }

    /** The connection is over: nobody lives by its rules any more. */
    void releasePort() {
        Set<TcpStack> following = followers;
        if (following != null) {
            followers = null;
            following.forEach(follower -> follower.execute(() -> follower.forget(this)));
        }
        if (home.isOnLoop()) {
            home.flowEnded(this);
        } else {
            home.executeOrElse(() -> home.flowEnded(this), () -> port.release(null));
        }
    }

    private void dropReceived() {
        for (ByteBuf piece = poll(); piece != null; piece = poll()) {
            piece.release();
        }
    }
}

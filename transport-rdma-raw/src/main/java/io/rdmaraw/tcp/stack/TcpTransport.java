package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.wire.IcmpErrorKind;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;

/**
 * A connection of the TCP core with what belongs to it outside the core: its rules, its way through the network, and
 * what has come in since its channel last looked. For the thread of its stack's loop.
 */
public final class TcpTransport implements StreamTransport {
    private static final AtomicReferenceFieldUpdater<TcpTransport, Place> PLACE =
            AtomicReferenceFieldUpdater.newUpdater(TcpTransport.class, Place.class, "place");

    /** The stack whose rules bring the connection's segments. */
    private final TcpStack home;
    private final TcpPort port;
    private volatile Place place;
    private TcpConnection connection;
    private TcpPath path;
    /** Null before the connection has a channel and when the channel is closed. */
    private ConnectionListener channel;
    private ConnectionAcceptor acceptor;
    private final ReceivedPieces received = new ReceivedPieces();
    /** Stacks besides {@link #home} that the connection's segments come to; null when there are none, or at the end. */
    private volatile Set<TcpStack> followers;
    private CloseReason closeReason;
    /** The loop that had the connection has ended, or the use of its device, but the channel lives. */
    private boolean endedWithLoop;
    private IcmpErrorKind softError;
    private boolean ready;
    /** The channel is closed: what comes in is not read. */
    private boolean orphaned;
    private boolean connected;
    private boolean peerFinished;
    /** The channel has more to write than the send buffer holds. */
    private boolean wantsSendRoom;
    private boolean hasSendRoom;

    public TcpTransport(TcpStack stack, TcpPort port) {
        home = stack;
        place = stack.here();
        this.port = port;
    }

    /**
     * Where a connection is.
     *
     * @param stack what has it; changes on that stack's loop, when the connection has arrived
     * @param target where it is going; the same as {@code stack} when it is there
     */
    record Place(TcpStack stack, TcpStack target) {
    }

    public TcpStack stack() {
        return place.stack;
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
                    connection.remoteHigh(), connection.remoteLow(), connection.remotePort(),
                    connection.mark());
            path = current;
            if (current != null) {
                connection.limitMtu(current.linkMtuBytes());
                connection.limitPathMtu(current.pathMtuBytes());
            }
        }
        return current;
    }

    /** Has the path found again, by the rules for another mark ({@code SO_MARK}). */
    public void mark(int changed) {
        if (changed != connection.mark()) {
            connection.mark(changed);
            leaveNextHop();
        }
    }

    /** The path so far notes the use of its next hop for a loop that has the connection no more: it is found anew. */
    private void leaveNextHop() {
        // One without leads to a loop of this host, and if more of them share a port by now it would be another one.
        if (path != null && path.hopOrNull() != null) {
            path = null;
        }
    }

    /** Returns the path of the segments so far; null if there is none, or routes have changed since. */
    TcpPath lastPath(TcpNetwork network) {
        return path == null || path.generation() != network.generation() ? null : path;
    }

    /** The connection was opened by this channel, on its loop. */
    public void channel(ConnectionListener opener) {
        channel = opener;
    }

    /** Returns the stack that segments of the connection are passed on to: it has the connection, or knows where. */
    TcpStack target() {
        return place.target;
    }

    @Override
    public void attach(ConnectionListener attaching, TcpStack destination) {
        onLoop(() -> {
            TcpStack current = stack();
            if (current == destination) {
                arrive(attaching);
            } else if (attaching.loopStack() == destination) {
                leaveFor(destination, attaching);
            }
            // Else the channel has gone on meanwhile, and attaches where it is now.
        }, () -> destination.onLoop(() -> comeFromEndedLoop(attaching, destination)));
    }

    /** The loop that had the connection has ended, and with it the connection: the channel is told where it is. */
    private void comeFromEndedLoop(ConnectionListener attaching, TcpStack destination) {
        if (attaching.loopStack() == destination) {
            place = destination.here();
            noteEndOfLoop();
            arrive(attaching);
        }
    }

    /** It was not the channel that has aborted the connection, and the peer says nothing of it. */
    private void noteEndOfLoop() {
        endedWithLoop = closeReason == CloseReason.ABORTED;
    }

    private void arrive(ConnectionListener attaching) {
        TcpStack current = stack();
        if (!orphaned && attaching.loopStack() == current) {
            channel = attaching;
            hasSendRoom = true;
            current.arrived(this);
        }
    }

    private void leaveFor(TcpStack destination, ConnectionListener attaching) {
        Place before = place;
        TcpStack from = before.stack;
        boolean live = closeReason == null;
        channel = null;
        from.unready(this);
        if (live) {
            from.moveOut(this);
            if (from != home) {
                // It passes on what is still on its way from home; at the end it is told, as home is, to forget.
                followedBy(from);
            }
        }
        destination.executeOrElse(() -> {
            place = destination.here();
            if (live) {
                leaveNextHop();
                destination.moveIn(this);
                noteEndOfLoop();
            }
            arrive(attaching);
        }, () -> {
            // The loop has ended, and the channel with it. Another place than before, which is not to be replaced.
            place = new Place(from, from);
            if (live) {
                from.moveIn(this);
                connection.abort();
            }
        });
        // Only now: what others pass on is to reach the destination behind the connection, or it is answered by a reset
        // there. Until then it comes here, and is passed on from here. Nothing to do if the connection has arrived.
        PLACE.compareAndSet(this, before, new Place(from, destination));
    }

    /** Has something done on the loop that the connection is on. Any thread. */
    void onLoop(Runnable task) {
        onLoop(task, () -> { });
    }

    /** As {@link #onLoop(Runnable)}; if that loop has ended, {@code ended} is done when its stack has ended too. */
    private void onLoop(Runnable task, Runnable ended) {
        Place now = place;
        if (!now.stack.isOnLoop()) {
            passTo(now.stack, now, task, ended);
        } else if (now.target != now.stack) {
            // On its way, which is a task of the other loop already.
            passTo(now.target, now, task, ended);
        } else {
            task.run();
        }
    }

    private void passTo(TcpStack stack, Place seen, Runnable task, Runnable ended) {
        stack.executeOrElse(() -> onLoop(task, ended), () -> refused(stack, seen, task, ended));
    }

    /** A loop has ended. So has the connection if it was there; but it may have left in time, or be on its way. */
    private void refused(TcpStack by, Place seen, Runnable task, Runnable ended) {
        Place now = place;
        if (now != seen) {
            onLoop(task, ended);
        } else if (now.target != by) {
            passTo(now.target, now, task, ended);
        } else {
            // Its last tasks may still have the connection leave.
            by.onceGone(() -> {
                if (place == now) {
                    ended.run();
                } else {
                    onLoop(task, ended);
                }
            });
        }
    }

    @Override
    public void detach() {
        channel = null;
    }

    @Override
    public boolean isAttached() {
        return channel != null;
    }

    @Override
    public EventLoop loop() {
        return stack().eventLoop();
    }

    @Override
    public InetSocketAddress localAddress() {
        return TcpSnapshots.localOf(connection);
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return TcpSnapshots.remoteOf(connection);
    }

    /** The connection was accepted and waits for this channel to make a channel of it. */
    void acceptor(ConnectionAcceptor server) {
        acceptor = server;
    }

    boolean markReady() {
        boolean first = !ready;
        ready = true;
        return first;
    }

    /** Tells whether something has happened that the channel has not been told yet. */
    boolean isReady() {
        return ready;
    }

    /** The channel is told, or will be by another stack. */
    void markTold() {
        ready = false;
    }

    void markConnected() {
        connected = true;
    }

    void markPeerFinished() {
        peerFinished = true;
    }

    /** The network says something that ends no connection yet; null when the peer has acknowledged since. */
    void noteSoftError(IcmpErrorKind error) {
        softError = error;
    }

    void markClosed(CloseReason reason) {
        closeReason = reason;
    }

    /** Takes received bytes and their reference. */
    void add(ByteBuf piece) {
        if (received.add(piece)) {
            connection.unreadPieceJoined();
        }
    }

    @Override
    public ReceivedPieces received() {
        return received;
    }

    @Override
    public boolean lendsSlots() {
        return true;
    }

    @Override
    public boolean isConnected() {
        return connected;
    }

    @Override
    public boolean isPeerFinished() {
        return peerFinished;
    }

    @Override
    public boolean isClosed() {
        return closeReason != null;
    }

    @Override
    public IOException connectFailure() {
        return StreamErrors.ofConnect(closeReason, softError);
    }

    @Override
    public IOException failure() {
        if (endedWithLoop) {
            return StreamErrors.ofEndOfLoop();
        }
        return closeReason == null ? null : StreamErrors.ofClose(closeReason, softError);
    }

    /** The channel has more to write than there is room for; it is told when there is again. */
    void awaitSendRoom() {
        wantsSendRoom = true;
        connection.awaitsSendRoom(true);
    }

    /** Bytes were taken or sent; returns true if the channel waits for that and there is enough room now. */
    boolean noteAcked() {
        if (!wantsSendRoom || connection.awaitsNotSentLow()) {
            return false;
        }
        int bufferBytes = sendBufferBytes();
        // As Linux does: a writer is woken when a third of the buffer is free.
        if (connection.queuedBytes() > bufferBytes - bufferBytes / 3) {
            return false;
        }
        wantsSendRoom = false;
        connection.awaitsSendRoom(false);
        hasSendRoom = true;
        return true;
    }

    @Override
    public boolean takeSendRoom() {
        boolean room = hasSendRoom;
        hasSendRoom = false;
        return room;
    }

    private int sendBufferBytes() {
        return channel == null ? 0 : channel.sendBufferBytes(connection);
    }

    // ---- what the channel asks for ----

    @Override
    public boolean beginReading() {
        return stack().beginReading();
    }

    @Override
    public void endReading(boolean outer) {
        stack().endReading(outer);
    }

    @Override
    public void write(ChannelOutboundBuffer in, ByteBufAllocator allocator) throws IOException {
        boolean waits = stack().beforeFlush(channel != null && channel.sharesFlushes());
        if (closeReason != null) {
            IOException cause = failure();
            throw cause != null ? cause : new SocketException("Broken pipe: the connection is closed");
        }
        try {
            StreamSender.fill(this, in, allocator);
        } finally {
            stack().flush(waits);
        }
    }

    /** With the server's cookie the SYN takes along what was written; without, that waits for the connection. */
    public void openFast(ChannelOutboundBuffer written, ByteBufAllocator allocator) throws IOException {
        if (connection.fastOpen()) {
            StreamSender.fill(this, written, allocator);
        }
    }

    /** Returns how many more bytes the send buffer takes; not above 0 when it is full. */
    int sendRoom() {
        return Math.min(sendBufferBytes() - connection.queuedBytes(), connection.notSentRoom());
    }

    /** Sends a buffer's readable bytes and takes its reference. */
    void send(ByteBuf data) {
        connection.send(data);
    }

    @Override
    public void read(int bytes) {
        connection.readWindowOpened(bytes);
    }

    @Override
    public void settingChanged(Consumer<TcpConnection> change, Consumer<TcpConnection> late) {
        Place asked = place;
        if (asked.stack.isOnLoop()) {
            tellAt(asked, change, late);
        } else {
            asked.stack.executeOrElse(() -> tellAt(asked, change, late), () -> onLoop(() -> tell(late)));
        }
    }

    private void tellAt(Place asked, Consumer<TcpConnection> change, Consumer<TcpConnection> late) {
        if (place == asked && asked.target == asked.stack) {
            tell(change);
        } else {
            onLoop(() -> tell(late));
        }
    }

    /** One that is over has not moved with its channel: what it knows of its core is another loop's. */
    private void tell(Consumer<TcpConnection> change) {
        if (closeReason == null) {
            change.accept(connection);
        }
    }

    @Override
    public void info(Promise<RdmaRawTcpInfo> promise) {
        onLoop(() -> promise.setSuccess(TcpSnapshots.info(connection.info())),
                () -> promise.tryFailure(new ClosedChannelException()));
    }

    /** Sends FIN after what is queued. */
    @Override
    public void shutdownOutput() {
        onLoop(() -> {
            connection.shutdownOutput();
            stack().flushEnd();
        });
    }

    /** Has what came in handed on. */
    void deliver() {
        markTold();
        ConnectionAcceptor server = acceptor;
        if (server != null) {
            acceptor = null;
            server.accepted(this);
        }
        if (channel != null) {
            channel.transportChanged();
        } else if (orphaned) {
            received.drop();
        }
    }

    @Override
    public void closeByChannel(boolean reset) {
        onLoop(() -> close(reset), received::drop);
    }

    private void close(boolean reset) {
        channel = null;
        acceptor = null;
        orphaned = true;
        // First: what follows may fail, and these hold slots.
        received.drop();
        if (reset) {
            // What was written is on its way by now with a kernel, and only what is not is dropped.
            stack().flushNow();
            connection.abort();
        } else {
            connection.close();
        }
        stack().flushEnd();
    }

    /** Another stack than {@link #home} gets segments of the connection, and passes them on until the end. */
    void followedBy(TcpStack follower) {
        Set<TcpStack> all = new HashSet<>(followers == null ? Set.of() : followers);
        all.add(follower);
        followers = all;
    }

    /** Tells whether segments of the connection are to be passed on by stacks that were told so. Any thread. */
    boolean isFollowed() {
        return followers != null;
    }

    /** The connection is over and does not use its rules any more. */
    void releasePort() {
        Set<TcpStack> following = followers;
        if (following != null) {
            followers = null;
            following.forEach(follower -> follower.execute(() -> follower.forget(this)));
        }
        if (home.isOnLoop()) {
            home.transportEnded(this);
        } else {
            home.executeOrElse(() -> home.transportEnded(this), () -> port.release(null));
        }
    }
}

package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelId;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.tcp.stack.port.TcpPort;
import io.rdmaraw.tcp.stack.receive.StreamReceiveQueue;
import io.rdmaraw.wire.IcmpErrorKind;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A connection of the TCP engine and its state outside the engine: flow rules, path, and the data received since its
 * channel last read. Used on the thread of the stack's loop only, unless a method says otherwise.
 */
public final class TcpTransport implements StreamTransport {
    private static final long WRITE_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final TcpPort port;
    private final ConnectionLocation location;
    private TcpConnection connection;
    private TcpPath path;
    /** Null before a channel is attached and after it has closed. */
    private ConnectionOwner channel;
    private ChannelId channelId;
    private ConnectionAcceptor acceptor;
    private final StreamReceiveQueue received = new StreamReceiveQueue();
    private CloseReason closeReason;
    /** Set if the connection ended because its loop or the use of its device ended, while the channel is still open. */
    private boolean endedWithLoop;
    private IcmpErrorKind softError;
    private boolean queuedForDelivery;
    /** Set if the channel has closed; received data is dropped. */
    private boolean orphaned;
    private boolean connected;
    private boolean peerFinished;
    /** Set if the channel has more data to write than the send buffer holds. */
    private boolean awaitingSendRoom;
    private boolean hasSendRoom;
    /** Set while a task is scheduled that flushes the channel again. */
    private boolean writeRetryScheduled;
    /** The message that is being sent in place in several parts; null if there is none. */
    private ByteBuf sentInPlace;

    public TcpTransport(TcpStack stack, TcpPort port) {
        location = new ConnectionLocation(this, stack);
        this.port = port;
    }

    public TcpStack stack() {
        return location.stack();
    }

    /** Returns the location of the connection. */
    ConnectionLocation location() {
        return location;
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

    /** Returns the path to the peer; null if there is none. Looks it up again if the network has changed. */
    TcpPath path(TcpNetwork network) {
        TcpPath current = path;
        if (current == null || current.generation() != network.generation()
                || current.isReturnPath() && current.targetMac() != connection.peerMac()) {
            current = network.path(connection.localHigh(), connection.localLow(), connection.localPort(),
                    connection.remoteHigh(), connection.remoteLow(), connection.remotePort(),
                    connection.soMark(), connection.peerMac());
            path = current;
            if (current != null && current.isPath()) {
                connection.limitMtu(current.linkMtuBytes());
                connection.limitPathMtu(current.pathMtuBytes());
            }
        }
        return current;
    }

    /** Sets {@code SO_MARK}. The path is looked up again with the routing rules for the new mark. */
    public void soMark(int changed) {
        if (changed != connection.soMark()) {
            connection.soMark(changed);
            releaseNextHop();
        }
    }

    /** Discards the path, because it records the use of its next hop for the loop that the connection has left. */
    private void releaseNextHop() {
        // A path without a next hop leads to a loop of this host. Keep it: if more loops share the port now, a new
        // lookup could select another one.
        if (path != null && path.hopOrNull() != null) {
            path = null;
        }
    }

    /** Returns the last path of the connection; null if there is none or if routes have changed since. */
    TcpPath lastPath(TcpNetwork network) {
        return path == null || path.generation() != network.generation() ? null : path;
    }

    /** Returns the ID of the channel, also after it has closed; null before one is attached. */
    ChannelId channelIdOrNull() {
        return channelId;
    }

    /** Attaches the channel that opened this connection. Called on the channel's loop. */
    public void channel(ConnectionOwner opener) {
        channel = opener;
        channelId = opener.channelId();
    }

    @Override
    public void attach(ConnectionOwner attaching, TcpStack destination) {
        location.runOnLoop(() -> {
            TcpStack current = stack();
            if (current == destination) {
                attachHere(attaching);
            } else if (attaching.tcpStack() == destination) {
                moveTo(destination, attaching);
            }
            // Otherwise the channel has moved on, and attaches on its present loop.
        }, () -> destination.runOnLoop(() -> moveFromEndedLoop(attaching, destination)));
    }

    private void moveFromEndedLoop(ConnectionOwner attaching, TcpStack destination) {
        if (attaching.tcpStack() == destination) {
            location.setStack(destination);
            recordLoopEnd();
            attachHere(attaching);
        }
    }

    /** Records whether the shutdown of the loop, not the user, aborted the connection. */
    private void recordLoopEnd() {
        endedWithLoop = closeReason == CloseReason.ABORTED;
    }

    private void attachHere(ConnectionOwner attaching) {
        TcpStack current = stack();
        if (!orphaned && attaching.tcpStack() == current) {
            channel = attaching;
            channelId = attaching.channelId();
            hasSendRoom = true;
            current.onTransportArrived(this);
        }
    }

    private void moveTo(TcpStack destination, ConnectionOwner attaching) {
        boolean open = closeReason == null;
        channel = null;
        location.moveTo(destination, open, () -> {
            if (open) {
                releaseNextHop();
                destination.adoptConnection(this);
                recordLoopEnd();
            }
            attachHere(attaching);
        });
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
        return TcpSnapshots.localOf(connection, stack().network().scopeId());
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return TcpSnapshots.remoteOf(connection, stack().network().scopeId());
    }

    /** Sets the server channel that will create a channel for this accepted connection. */
    void acceptor(ConnectionAcceptor acceptor) {
        this.acceptor = acceptor;
    }

    boolean markQueued() {
        boolean first = !queuedForDelivery;
        queuedForDelivery = true;
        return first;
    }

    @Override
    public boolean isQueuedForDelivery() {
        return queuedForDelivery;
    }

    /** Records that the channel has been notified, or that another stack will do so. */
    void unmarkQueued() {
        queuedForDelivery = false;
    }

    void markConnected() {
        connected = true;
    }

    void markPeerFinished() {
        peerFinished = true;
    }

    /** Records an ICMP error that has not ended the connection; null if the peer has acknowledged data since. */
    void recordSoftError(IcmpErrorKind error) {
        softError = error;
    }

    void markClosed(CloseReason reason) {
        closeReason = reason;
    }

    /** Adds received data and takes its reference. */
    void add(ByteBuf piece) {
        if (received.add(piece)) {
            connection.reportPieceMerged();
        }
    }

    @Override
    public StreamReceiveQueue received() {
        return received;
    }

    @Override
    public boolean receivesIntoSlots() {
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

    /** Records that the channel has more data than the send buffer. It is notified when there is room. */
    void notifyWhenSendRoom() {
        awaitingSendRoom = true;
        connection.setAwaitingSendRoom(true);
    }

    /** Flushes the channel again soon. Used if the channel's data is not ready yet and nothing reports when it is. */
    void retryWrite() {
        if (!writeRetryScheduled) {
            writeRetryScheduled = true;
            stack().eventLoop().schedule(() -> location.runOnLoop(this::resumeWrite), WRITE_RETRY_NANOS,
                    TimeUnit.NANOSECONDS);
        }
    }

    private void resumeWrite() {
        writeRetryScheduled = false;
        if (channel != null) {
            hasSendRoom = true;
            stack().markReady(this);
        }
    }

    /** Handles acknowledged or sent data. Returns true if the channel waits for room and there is enough now. */
    boolean onSendProgress() {
        if (!awaitingSendRoom || connection.awaitsNotSentLow()) {
            return false;
        }
        int bufferBytes = sendBufferBytes();
        // As on Linux, a writer is notified when a third of the buffer is free.
        if (connection.queuedBytes() > bufferBytes - bufferBytes / 3) {
            return false;
        }
        awaitingSendRoom = false;
        connection.setAwaitingSendRoom(false);
        hasSendRoom = true;
        return true;
    }

    @Override
    public boolean pollSendRoom() {
        boolean room = hasSendRoom;
        hasSendRoom = false;
        return room;
    }

    private int sendBufferBytes() {
        return channel == null ? 0 : channel.sendBufferBytes(connection);
    }

    // ---- operations of the channel ----

    @Override
    public boolean beginReading() {
        return stack().transmission().beginReading();
    }

    @Override
    public void endReading(boolean wasReading) {
        stack().transmission().endReading(wasReading);
    }

    @Override
    public void write(ChannelOutboundBuffer in, ByteBufAllocator allocator) throws IOException {
        if (!stack().transmission().isReading()) {
            // A task may have blocked the loop. Acknowledgements or a reset of the peer received since then must affect
            // this write.
            stack().receiveNow();
        }
        // Evaluated before the write completes, because its listeners may add tasks.
        boolean shared = channel != null && channel.consolidatesFlushes() && stack().transmission().mayDeferShared();
        if (closeReason != null) {
            IOException cause = failure();
            throw cause != null ? cause : new SocketException("Broken pipe: the connection is closed");
        }
        try {
            StreamSender.fill(this, in, allocator);
        } finally {
            connection.push();
            stack().transmission().flush(shared);
        }
    }

    /**
     * Sends the written data with the SYN (TCP Fast Open), if a cookie of the server is known. Otherwise the data waits
     * for the connection.
     */
    public void sendWithSyn(ChannelOutboundBuffer written, ByteBufAllocator allocator) throws IOException {
        if (connection.enableFastOpen()) {
            StreamSender.fill(this, written, allocator);
            connection.push();
        }
    }

    /** Returns how many more bytes the send buffer accepts; 0 or negative if it is full. */
    int sendRoom() {
        return Math.min(sendBufferBytes() - connection.queuedBytes(), connection.notSentRoom());
    }

    /**
     * Transmits queued segments and receives acknowledgements. This lets a handler write more than the send buffer
     * holds in one turn of the loop.
     *
     * @return the room in bytes; 0 if the connection has ended
     */
    int makeSendRoom() {
        // As on Linux, a writer that waits for room has ended a write.
        connection.push();
        stack().flushNow();
        stack().receiveNow();
        return closeReason == null ? sendRoom() : 0;
    }

    /** Returns whether a message is the one being sent in place in parts; see {@link #sentInPlace}. */
    boolean isSentInPlace(ByteBuf message) {
        return message == sentInPlace;
    }

    void sentInPlace(ByteBuf messageOrNull) {
        sentInPlace = messageOrNull;
    }

    /** Sends the readable bytes of a buffer and takes its reference. */
    void send(ByteBuf data) {
        connection.send(data);
    }

    @Override
    public void reportRead(int bytes) {
        connection.reportRead(bytes);
    }

    @Override
    public void applyChange(Consumer<TcpConnection> change, Consumer<TcpConnection> ifMoved) {
        location.runOnOwner(() -> applyIfOpen(change), () -> applyIfOpen(ifMoved));
    }

    /** Applies a change while the connection is open. An ended connection stays with the engine of its former loop. */
    private void applyIfOpen(Consumer<TcpConnection> change) {
        if (closeReason == null) {
            change.accept(connection);
        }
    }

    @Override
    public void info(Promise<RdmaRawTcpInfo> promise) {
        location.runOnLoop(() -> promise.setSuccess(TcpSnapshots.info(connection.info())),
                () -> promise.tryFailure(new ClosedChannelException()));
    }

    @Override
    public void shutdownInput() {
        connection.shutdownInput();
    }

    /** Sends a FIN after the queued data. */
    @Override
    public void shutdownOutput() {
        location.runOnLoop(() -> {
            connection.shutdownOutput();
            stack().flushFin();
        });
    }

    /** Notifies the server of an accepted connection, or the channel of its events. */
    void deliver() {
        unmarkQueued();
        ConnectionAcceptor accepting = acceptor;
        if (accepting != null) {
            acceptor = null;
            accepting.accepted(this);
        }
        if (channel != null) {
            channel.transportChanged();
        } else if (orphaned) {
            received.drop();
        }
    }

    @Override
    public void closeByChannel(boolean reset) {
        location.runOnLoop(() -> close(reset), received::drop);
    }

    @Override
    public boolean isDelivered() {
        return closeReason != null || connection.state() == TcpState.FIN_WAIT_2;
    }

    /** Releases the channel, because the process ends. Neither the channel nor its server is notified afterwards. */
    void abandon() {
        channel = null;
        acceptor = null;
        orphaned = true;
    }

    private void close(boolean reset) {
        abandon();
        // First, because the following calls may fail, and the pieces occupy slots.
        received.drop();
        if (reset) {
            // A kernel would already have sent the written data. Only data that cannot be sent now is dropped.
            stack().flushNow();
            connection.abort();
        } else {
            connection.close();
        }
        stack().flushFin();
    }
}

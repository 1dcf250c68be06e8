package io.rdmaraw.channel;

import io.netty.channel.ChannelId;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.channel.io.StreamInbox;
import io.rdmaraw.channel.stream.StreamConnector;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.kernel.KernelTransport;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpOpener;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;

/**
 * The connection of a socket channel, from bind or accept to close. It moves with the channel between loops. It tells
 * the channel when bytes have been received and when there is room to send. Its transport is the device's TCP or a
 * socket of the kernel. Used on the channel's loop, unless a method says otherwise.
 */
final class StreamConnection implements KernelTransport.Owner, StreamInbox.Connection {
    private static final long ARRIVAL_TIMEOUT_MILLIS = 100;

    private final RdmaRawSocketChannel channel;
    private final StreamInbox inbox;
    private final StreamConnector connector;
    /** Set by connect or accept. Kept after the channel is closed. */
    private volatile StreamTransport transport;
    private volatile TcpStack tcpStack;
    private volatile boolean established;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private InetSocketAddress requestedLocal;
    /** The port that {@code bind} has reserved, until the channel connects or closes; null if there is none. */
    private TcpNetwork.Binding reservedPort;
    private boolean hasJoinedLoop;
    /** Completes when an accepted connection arrives from its server's loop; null unless the registration waits. */
    private Promise<Void> arrival;

    StreamConnection(RdmaRawSocketChannel channel) {
        this.channel = channel;
        inbox = new StreamInbox(channel, channel.config().readSettings(), this);
        connector = new StreamConnector(channel);
    }

    /** Returns the inbox, which fires the received bytes. */
    StreamInbox inbox() {
        return inbox;
    }

    /** May be called on any thread. */
    @Override
    public StreamTransport transport() {
        return transport;
    }

    /** Returns whether the kernel carries the connection. May be called on any thread. */
    boolean isOfKernel() {
        return transport instanceof KernelTransport;
    }

    /** Returns whether the connection has been open, even if it has ended. May be called on any thread. */
    boolean isEstablished() {
        return established;
    }

    /** May be called on any thread. */
    InetSocketAddress localAddress() {
        StreamTransport current = transport;
        if (localAddress == null && current != null) {
            // Created on demand, because the two addresses are a tenth of the garbage of a short connection.
            localAddress = current.localAddress();
        }
        return localAddress;
    }

    /** May be called on any thread. */
    InetSocketAddress remoteAddress() {
        if (remoteAddress == null && established) {
            remoteAddress = transport.remoteAddress();
        }
        return remoteAddress;
    }

    // ---- the loop of the channel ----

    /** Sets the transport of an accepted connection. */
    void setAccepted(TcpTransport accepted) {
        transport = accepted;
    }

    /**
     * Moves an accepted connection from its server's loop to the loop that the channel registers with. The registration
     * waits for the connection, so that {@code channelActive} can write. The wait is bounded: a handler of the server's
     * loop may block until the channel is registered, and the connection stays there until that handler returns.
     */
    Future<?> prepareToJoin(RdmaRawIoHandler handler) throws IOException {
        if (transport instanceof TcpTransport ofDevice) {
            requireDevice(handler, ofDevice.stack().deviceQueue().device().name());
        }
        if (channel.parent() == null || hasJoinedLoop || transport.loop() == channel.eventLoop()) {
            return null;
        }
        tcpStack = handler.openTcpStack();
        Promise<Void> arrived = channel.eventLoop().newPromise();
        Future<?> timeout = channel.eventLoop().schedule(() -> arrived.trySuccess(null), ARRIVAL_TIMEOUT_MILLIS,
                TimeUnit.MILLISECONDS);
        arrived.addListener(done -> timeout.cancel(false));
        arrival = arrived;
        transport.attach(this, tcpStack);
        return arrived;
    }

    /** Checks that a loop can carry the connection. Another device may lead to another network. */
    private static void requireDevice(RdmaRawIoHandler loop, String device) {
        if (!device.equals(loop.config().device())) {
            throw new IllegalStateException("the connection is on " + device + ", but the group uses "
                    + loop.config().device() + ": register the channel with a group for " + device);
        }
    }

    void joinLoop(RdmaRawIoHandler handler) throws IOException {
        connector.joinLoop();
        hasJoinedLoop = true;
        if (transport != null) {
            if (arrival == null) {
                tcpStack = handler.openTcpStack();
                transport.attach(this, tcpStack);
            }
            arrival = null;
            if (channel.parent() != null) {
                channel.parent().onConnectionRegistered(channel.eventLoop());
            }
        }
    }

    void leaveLoop() {
        tcpStack = null;
        connector.leaveLoop();
        if (transport != null) {
            transport.detach();
        }
    }

    // ---- connecting ----

    void bind(InetSocketAddress local) throws IOException {
        requireUnbound();
        TcpOpener opener = channel.requireIoHandler().openTcpStack().opener();
        if (isForeign(opener, local) || channel.config().bindsWithoutPort() && local.getPort() == 0) {
            requestedLocal = local;
        } else {
            reservedPort = opener.reserve(local);
            requestedLocal = new InetSocketAddress(local.getAddress(), reservedPort.port());
        }
        localAddress = requestedLocal;
    }

    /**
     * Returns whether this host does not have a local address and the options permit the kernel's socket to use it.
     *
     * @throws IOException if this host does not have the address and the options do not permit to use it
     */
    private boolean isForeign(TcpOpener opener, InetSocketAddress local) throws IOException {
        try {
            opener.checkLocal(local);
            return false;
        } catch (IOException e) {
            if (!channel.config().bindsForeignAddress()) {
                throw e;
            }
            return true;
        }
    }

    private void requireUnbound() throws BindException {
        if (transport != null || requestedLocal != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
    }

    private void releaseReservedPort() {
        if (reservedPort != null) {
            reservedPort.close();
            reservedPort = null;
        }
    }

    /**
     * Starts an attempt to connect. The promise completes with it.
     *
     * @throws IOException if the attempt has not started; the caller then completes the promise
     */
    void connect(InetSocketAddress remote, SocketAddress localOrNull, ChannelPromise promise) throws IOException {
        connector.begin(remote, promise);
        try {
            startConnecting(remote, localOrNull);
        } catch (IOException | RuntimeException e) {
            connector.end();
            throw e;
        }
    }

    private void startConnecting(InetSocketAddress remote, SocketAddress localOrNull) throws IOException {
        tcpStack = channel.requireIoHandler().openTcpStack();
        if (localOrNull != null) {
            requireUnbound();
            InetSocketAddress local = AbstractRdmaRawChannel.requireResolved(localOrNull);
            isForeign(tcpStack.opener(), local);
            requestedLocal = local;
            localAddress = requestedLocal;
        }
        releaseReservedPort();
        RdmaRawSocketChannelConfig config = channel.config();
        int mark = config.mark();
        if (!channel.ioHandler().config().connectsByDevice(remote)
                || requestedLocal != null && isForeign(tcpStack.opener(), requestedLocal)
                || tcpStack.opener().isForKernel(requestedLocal, remote, mark)) {
            KernelTransport.requireNoMark(mark, remote);
            KernelTransport opening = new KernelTransport(this, tcpStack.statistics());
            transport = opening;
            if (config.isTcpFastOpenConnect()) {
                flushEarlyData();
            }
            opening.connect(requestedLocal, remote);
        } else {
            TcpTransport opening = tcpStack.opener().connect(requestedLocal, remote, mark, this);
            transport = opening;
            // Cleared, because the requested address may have port 0. The actual port is read from the transport.
            localAddress = null;
            if (config.isTcpFastOpenConnect()) {
                opening.sendWithSyn(flushEarlyData(), RdmaRawByteBufAllocator.DEFAULT);
            }
        }
    }

    /** Flushes messages written before connecting. They are sent with the SYN or as soon as the connection is open. */
    private ChannelOutboundBuffer flushEarlyData() {
        ChannelOutboundBuffer written = channel.unsafe().outboundBuffer();
        written.addFlush();
        return written;
    }

    void establish() {
        localAddress = null;
        established = true;
    }

    /** Ends the connection, or the attempt, because the channel closes. */
    void close() {
        connector.close();
        inbox.stopReading();
        releaseReservedPort();
        StreamTransport current = transport;
        if (current != null) {
            current.closeByChannel(channel.config().getSoLinger() == 0);
        }
        if (arrival != null) {
            arrival.tryFailure(new ClosedChannelException());
        }
    }

    // ---- calls of the transport ----

    /** Handles a change of the connection: it is established, received data, has send room, or has ended. */
    @Override
    public void transportChanged() {
        if (!channel.isOpen()) {
            // The transport is notified of the close later and drops received data then.
            return;
        }
        if (arrival != null) {
            // This completes the registration. Handlers called by it may close the channel.
            arrival.trySuccess(null);
            if (!channel.isOpen()) {
                return;
            }
        }
        StreamTransport current = transport;
        if (current.isConnected() && !established) {
            establish();
            remoteAddress = connector.peer();
            connector.succeed();
            if (channel.config().isTcpFastOpenConnect()) {
                // Sends the data that did not fit into the SYN.
                channel.resumeFlush();
            }
        }
        if (!established) {
            if (current.isClosed()) {
                connector.fail(current.connectFailure());
            }
            return;
        }
        inbox.transportChanged(current);
        // If the connection is closed, the flush fails the pending writes.
        if (current.pollSendRoom() || current.isClosed() && channel.isOpen()) {
            channel.resumeFlush();
        }
    }

    /** May be called on any thread. */
    @Override
    public TcpStack tcpStack() {
        return tcpStack;
    }

    @Override
    public int sendBufferBytes(TcpConnection connection) {
        return channel.config().sendBufferBytes(connection);
    }

    @Override
    public ChannelId channelId() {
        return channel.id();
    }

    @Override
    public boolean consolidatesFlushes() {
        return channel.config().consolidatesFlushes();
    }

    @Override
    public void applyOptions(TcpConnection connection) {
        channel.config().applyTo(connection);
    }

    @Override
    public SocketChannel channel() {
        return channel;
    }

    @Override
    public boolean isOnLoop() {
        return channel.ioHandler() != null;
    }

    @Override
    public void applyOptions(SocketChannelConfig socket) {
        channel.config().applyTo(socket);
    }

    @Override
    public NumberedOptions kernelOptions() {
        return channel.config().kernelOptions();
    }

    @Override
    public void closeAfterFailedWrite(Throwable cause) {
        channel.closeNow(cause);
    }
}

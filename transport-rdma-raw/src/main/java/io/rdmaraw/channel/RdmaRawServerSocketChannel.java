package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ServerSocketChannel;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.tcp.TcpListener;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * A listening TCP port. Takes the place of Netty's other server channels: it fires a {@link RdmaRawSocketChannel} for
 * each connection that was accepted.
 *
 * <p>The device is the one that {@link RdmaRawIoHandlerConfig.Builder#ipDevice} names.
 */
public final class RdmaRawServerSocketChannel extends AbstractRdmaRawChannel implements ServerSocketChannel {
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);

    private final RdmaRawServerSocketChannelConfig config = new RdmaRawServerSocketChannelConfig(this);
    private final AcceptInbox inbox = new AcceptInbox(this);
    private volatile InetSocketAddress localAddress;
    private TcpStack stack;
    private TcpSteering steering;
    private TcpListener listener;
    /** The kernel's socket on the same port, where the kernel has the same addresses. */
    private KernelListener kernel;

    /** Makes an open, unregistered channel. */
    public RdmaRawServerSocketChannel() {
        super(null);
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new ServerUnsafe();
    }

    @Override
    public RdmaRawServerSocketChannelConfig config() {
        return config;
    }

    @Override
    public boolean isActive() {
        return isOpen() && localAddress != null;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return null;
    }

    @Override
    protected SocketAddress localAddress0() {
        return localAddress;
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return null;
    }

    /** Returns the rules that the port's connections live by; null when the channel does not listen. */
    TcpSteering steering() {
        return steering;
    }

    /** Tells whether there is room for one more connection that the user has not accepted yet. */
    boolean mayAccept() {
        return isOpen() && inbox.mayAccept();
    }

    /** A connection was opened by a peer: makes it a channel. */
    void accepted(TcpFlow flow) {
        if (!isOpen()) {
            flow.closeByChannel(true);
            return;
        }
        if (inbox.receive(new RdmaRawSocketChannel(this, flow))) {
            inbox.endBurst();
        }
    }

    @Override
    void joinLoop(RdmaRawIoHandler loop) {
        if (localAddress != null) {
            try {
                listen(localAddress);
            } catch (IOException e) {
                throw new IllegalStateException("the channel cannot listen on its new loop: " + e.getMessage(), e);
            }
        }
    }

    @Override
    void leaveLoop() {
        stopListening();
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        if (localAddress != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
        localAddress = listen(RdmaRawSocketChannel.checked(address));
    }

    private InetSocketAddress listen(InetSocketAddress address) throws IOException {
        stack = ioHandler().tcp();
        InetSocketAddress wanted = address;
        if (stack.isKernelServed()) {
            kernel = new KernelListener(eventLoop(), address, config.getBacklog(), this::acceptedByKernel);
            wanted = new InetSocketAddress(address.getAddress(), kernel.port());
        }
        try {
            steering = stack.bind(wanted, new PortSharing(false, config.isReusePort()));
            listener = stack.listen(steering, config.getBacklog(), this);
        } catch (IOException | RuntimeException e) {
            closeKernel();
            throw e;
        }
        return new InetSocketAddress(address.getAddress(), steering.binding().port());
    }

    private void acceptedByKernel(Channel child) {
        stack.counters().kernelConnections++;
        if (inbox.receive(child)) {
            inbox.endBurst();
        }
    }

    private void closeKernel() {
        KernelListener open = kernel;
        if (open != null) {
            kernel = null;
            open.close();
        }
    }

    private void stopListening() {
        TcpSteering held = steering;
        if (held != null) {
            steering = null;
            listener.close();
            held.release();
            closeKernel();
        }
    }

    @Override
    protected void doClose() {
        markClosed();
        if (stack != null && !stack.isOnLoop()) {
            stack.execute(this::stopListening);
        } else {
            stopListening();
        }
        inbox.close();
    }

    @Override
    protected void doBeginRead() {
        inbox.beginRead();
    }

    /** Auto-read was switched off, on any thread. */
    @Override
    void stopReading() {
        inbox.autoReadCleared();
    }

    @Override
    protected void doDisconnect() {
        throw new UnsupportedOperationException("a server channel is not connected");
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) {
        throw new UnsupportedOperationException("a server channel has nobody to write to");
    }

    @Override
    protected Object filterOutboundMessage(Object msg) {
        throw new UnsupportedOperationException("a server channel has nobody to write to");
    }

    private final class ServerUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remoteAddress, SocketAddress local, ChannelPromise promise) {
            promise.tryFailure(new UnsupportedOperationException("a server channel does not connect"));
        }
    }
}

package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.metrics.internal.MetricsExporters;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.receive.ReceivedFrames;
import io.rdmaraw.wire.IcmpErrorKind;

/**
 * Forwards the events of the TCP engine to the transports of the connections. The channels are notified after the
 * burst.
 */
final class ConnectionEvents implements TcpEvents {
    private final TcpStack stack;

    ConnectionEvents(TcpStack stack) {
        this.stack = stack;
    }

    @Override
    public void connected(TcpConnection connection) {
        TcpTransport transport = (TcpTransport) connection.attachment();
        transport.markConnected();
        stack.markReady(transport);
    }

    @Override
    public boolean mayAccept(TcpListener listener) {
        ListeningLoop.ListenerAttachment attachment = (ListeningLoop.ListenerAttachment) listener.attachment();
        boolean mayAccept = attachment.port().acceptor() != attachment.acceptor()
                || attachment.acceptor().hasAcceptQueueRoom();
        stack.statistics().droppedAcceptQueueFull += mayAccept ? 0 : 1;
        return mayAccept;
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        ListeningLoop.ListenerAttachment attachment = (ListeningLoop.ListenerAttachment) listener.attachment();
        ConnectionAcceptor acceptor = attachment.acceptor();
        if (attachment.port().acceptor() != acceptor || !retain(attachment)) {
            stack.statistics().droppedAcceptQueueFull++;
            connection.abort();
            return;
        }
        TcpTransport transport = new TcpTransport(stack, attachment.port());
        transport.connection(connection);
        transport.markConnected();
        transport.path(stack.network());
        transport.acceptor(acceptor);
        connection.attachment(transport);
        stack.statistics().openConnections++;
        stack.markReady(transport);
    }

    /**
     * Retains the port for the connection and reserves a place in the accept queue. Returns false, with nothing
     * retained, if either fails.
     */
    private boolean retain(ListeningLoop.ListenerAttachment attachment) {
        if (!attachment.port().retain()) {
            return false;
        }
        if (!attachment.acceptor().reserveAcceptPlace()) {
            attachment.port().release(stack.timeWaitPorts());
            return false;
        }
        return true;
    }

    @Override
    public void data(TcpConnection connection, Segment segment, int slice, int index, int length) {
        ByteBuf buffer = segment.buffers[slice];
        boolean copied = stack.receiver().shouldCopy(buffer, length, connection.unreadPieces());
        add(connection, copied ? stack.receiver().copy(buffer, index, length)
                : ((ReceivedFrames) segment.frames).retainedPayload(slice, index, length));
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        boolean copied = stack.receiver().shouldCopy(buffer, length, connection.unreadPieces());
        add(connection, copied ? stack.receiver().copy(buffer, index, length) : buffer.retainedSlice(index, length));
    }

    private void add(TcpConnection connection, ByteBuf payload) {
        TcpTransport transport = (TcpTransport) connection.attachment();
        transport.add(payload);
        stack.markReady(transport);
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        TcpTransport transport = (TcpTransport) connection.attachment();
        transport.markPeerFinished();
        stack.markReady(transport);
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        TcpTransport transport = (TcpTransport) connection.attachment();
        transport.recordSoftError(null);
        if (transport.onSendProgress()) {
            stack.markReady(transport);
        }
    }

    @Override
    public void notSentLow(TcpConnection connection) {
        if (connection.attachment() instanceof TcpTransport transport && transport.onSendProgress()) {
            stack.markReady(transport);
        }
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        TcpTransport transport = (TcpTransport) connection.attachment();
        if (transport == null) {
            // The connection was aborted before it had a transport.
            return;
        }
        stack.statistics().openConnections--;
        if (MetricsExporters.HAS_FLIGHT_RECORDER) {
            ConnectionRecording.ended(stack, connection, reason);
        }
        transport.markClosed(reason);
        transport.location().end();
        stack.markReady(transport);
    }

    @Override
    public boolean isReceiveMemoryLow() {
        return stack.receiver().isMemoryLow();
    }

    @Override
    public void softError(TcpConnection connection, IcmpErrorKind error) {
        stack.statistics().softErrors++;
        if (connection.attachment() instanceof TcpTransport transport) {
            transport.recordSoftError(error);
        }
    }

    @Override
    public void pathSuspect(TcpConnection connection) {
        if (MetricsExporters.HAS_FLIGHT_RECORDER) {
            ConnectionRecording.pathSuspect(stack, connection);
        }
        if (connection.attachment() instanceof TcpTransport transport) {
            TcpPath path = transport.lastPath(stack.network());
            if (path != null && path.hopOrNull() != null) {
                stack.network().suspect(path.hopOrNull());
            }
        }
    }

    @Override
    public boolean handleUnmatched(Segment segment) {
        if (!stack.network().isLocalUnicast(segment.destinationHigh, segment.destinationLow)) {
            stack.statistics().droppedForeign++;
            return true;
        }
        if (stack.network().isMartianSource(segment.sourceHigh, segment.sourceLow)) {
            stack.statistics().droppedMartians++;
            return true;
        }
        return stack.crossLoopLookup().handleUnmatched(segment) || stack.handover().handleUnmatched(stack, segment);
    }

    @Override
    public boolean mayReset(Segment segment) {
        return stack.handover().mayReset(stack, segment);
    }
}

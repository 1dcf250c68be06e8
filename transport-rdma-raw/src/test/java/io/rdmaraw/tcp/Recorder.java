package io.rdmaraw.tcp;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.wire.IcmpErrorKind;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Records the events of an engine. Received bytes are read at once by default. */
class Recorder implements TcpEvents {
    final List<String> events = new ArrayList<>();
    final ByteArrayOutputStream received = new ByteArrayOutputStream();
    TcpConnection accepted;
    boolean readAtOnce = true;
    /** The next data event fails as if memory were exhausted. */
    boolean failsNextData;
    Consumer<TcpConnection> whenNotSentIsLow = connection -> {
    };
    int ackedBytes;

    @Override
    public void connected(TcpConnection connection) {
        events.add("connected");
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        accepted = connection;
        events.add("accepted");
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        if (failsNextData) {
            failsNextData = false;
            throw new OutOfMemoryError("planted");
        }
        byte[] bytes = new byte[length];
        buffer.getBytes(index, bytes);
        received.writeBytes(bytes);
        if (readAtOnce) {
            connection.reportRead(length);
        }
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        events.add("peerFinished");
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        ackedBytes += bytes;
    }

    @Override
    public void notSentLow(TcpConnection connection) {
        events.add("notSentLow");
        whenNotSentIsLow.accept(connection);
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        events.add("closed " + reason);
    }

    @Override
    public void softError(TcpConnection connection, IcmpErrorKind error) {
        events.add("softError " + error);
    }
}

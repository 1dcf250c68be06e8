package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

/** Flight recorder events of single connections. */
@Timeout(60)
class TcpRecordingTest {
    private static final String END = "io.rdmaraw.TcpConnectionEnd";
    private static final int MESSAGE_BYTES = 1_000;

    @Test
    void endOfConnectionIsRecordedIfEnabled(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("events.jfr");
        String client;
        try (Recording recording = new Recording();
                StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            recording.start();
            connectAndClose(fixture);
            recording.enable(END);
            client = connectAndClose(fixture);
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> ends = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals(END)).toList();
        List<RecordedEvent> ours = ends.stream().filter(event -> event.getString("local").equals(client)).toList();
        assertEquals(1, ours.size(), ends.toString());
        RecordedEvent end = ours.getFirst();
        assertTrue(end.getLong("sentBytes") >= MESSAGE_BYTES);
        assertEquals(end.getLong("sentBytes") - end.getLong("retransmittedBytes"), end.getLong("receivedBytes"));
        assertEquals("ABORTED", end.getString("reason"));
        assertTrue(end.getDuration("busy").isPositive());
    }

    /**
     * Exchanges data until the connection has accumulated busy time, which is counted in milliseconds. Returns the
     * client's address.
     */
    private static String connectAndClose(StreamFixture fixture) throws Exception {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()),
                new ChannelInboundHandlerAdapter());
        int sent = 0;
        do {
            client.writeAndFlush(Unpooled.wrappedBuffer(new byte[MESSAGE_BYTES])).sync();
            sent += MESSAGE_BYTES;
            while (client.tcpInfo().sync().getNow().bytesReceived() < sent) {
                StreamFixture.settle(client.eventLoop());
            }
        } while (client.tcpInfo().sync().getNow().busyNanos() < 1_000_000);
        String address = client.localAddress().toString().substring(1);
        client.config().setSoLinger(0);
        client.close().sync();
        StreamFixture.settle(client.eventLoop());
        return address;
    }
}

package io.rdmaraw.examples.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.DatagramPacket;
import io.netty.handler.codec.dns.DatagramDnsQueryDecoder;
import io.netty.handler.codec.dns.DatagramDnsResponseEncoder;
import io.rdmaraw.examples.server.ExampleException;
import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;

/** Tests of the server's handlers without a network: the query and the answer are bytes. */
class ResponderTest {
    private static final InetSocketAddress CLIENT = new InetSocketAddress("127.0.0.1", 1);
    private static final InetSocketAddress SERVER = new InetSocketAddress("127.0.0.1", 2);
    private static final String ZONE = """
            $ORIGIN a.
            @ 60 SOA b c 1 2 3 4 5
            x 60 A 192.0.2.1
            y 60 CNAME x
            l 60 TXT "%s" "%s"
            """.formatted("1".repeat(255), "2".repeat(239));
    private static final String QUERY_HEADER = "1234" + "0100" + "0001" + "0000" + "0000" + "0000";

    private final Responder responder = new Responder(ZoneFile.parse("test", ZONE), 4096);
    private final EmbeddedChannel channel = new EmbeddedChannel(new DatagramDnsQueryDecoder(new QueryDecoder()),
            new DatagramDnsResponseEncoder(new AnswerEncoder()), new UdpQueryHandler(responder));

    /** Returns the answer in hexadecimal, or null if there is none. */
    private String ask(String query) {
        channel.writeInbound(new DatagramPacket(Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(query)), SERVER,
                CLIENT));
        DatagramPacket answer = channel.readOutbound();
        if (answer == null) {
            return null;
        }
        try {
            assertEquals(CLIENT, answer.recipient());
            return ByteBufUtil.hexDump(answer.content());
        } finally {
            answer.release();
        }
    }

    @Test
    void anAnswerPointsToTheQuestionAndKeepsItsCase() {
        String question = "0158" + "0141" + "00" + "0001" + "0001";
        assertEquals("1234" + "8500" + "0001" + "0001" + "0000" + "0000" + question
                + "c00c" + "0001" + "0001" + "0000003c" + "0004" + "c0000201", ask(QUERY_HEADER + question));
    }

    @Test
    void anAliasIsAnsweredWithItsTarget() {
        String question = "0179" + "0161" + "00" + "0001" + "0001";
        assertEquals("1234" + "8500" + "0001" + "0002" + "0000" + "0000" + question
                + "c00c" + "0005" + "0001" + "0000003c" + "0005" + "0178016100"
                + "0178016100" + "0001" + "0001" + "0000003c" + "0004" + "c0000201", ask(QUERY_HEADER + question));
    }

    @Test
    void missingNameIsAnsweredWithTheSoa() {
        String soa = "0161" + "00" + "0006" + "0001" + "0000003c" + "001e" + "0162016100" + "0163016100"
                + "00000001" + "00000002" + "00000003" + "00000004" + "00000005";
        String noName = "017a" + "0161" + "00" + "0001" + "0001";
        assertEquals("1234" + "8503" + "0001" + "0000" + "0001" + "0000" + noName + soa, ask(QUERY_HEADER + noName));
        String noData = "0178" + "0161" + "00" + "001c" + "0001";
        assertEquals("1234" + "8500" + "0001" + "0000" + "0001" + "0000" + noData + soa, ask(QUERY_HEADER + noData));
    }

    @Test
    void otherZonesClassesAndOperationsAreRefused() {
        String other = "0178" + "0162" + "00" + "0001" + "0001";
        assertEquals("1234" + "8105" + "0001" + "0000" + "0000" + "0000" + other, ask(QUERY_HEADER + other));
        String chaos = "0178" + "0161" + "00" + "0001" + "0003";
        assertEquals("1234" + "8105" + "0001" + "0000" + "0000" + "0000" + chaos, ask(QUERY_HEADER + chaos));
        assertEquals("1234" + "9004" + "0000" + "0000" + "0000" + "0000",
                ask("1234" + "1000" + "0000" + "0000" + "0000" + "0000"));
        assertEquals("1234" + "8001" + "0000" + "0000" + "0000" + "0000",
                ask("1234" + "0000" + "0000" + "0000" + "0000" + "0000"));
    }

    /** The answer has 12 + 9 + 12 + 256 + 240 = 529 bytes, and 540 with an OPT record. */
    @Test
    void truncatesAtTheClientsLimit() {
        String question = "016c" + "0161" + "00" + "0010" + "0001";
        String ednsHeader = "1234" + "0000" + "0001" + "0000" + "0000" + "0001";
        assertEquals("1234" + "8700" + "0001" + "0000" + "0000" + "0000" + question, ask(QUERY_HEADER + question));
        assertEquals("1234" + "8600" + "0001" + "0000" + "0000" + "0001" + question + "000029" + "1000" + "00000000"
                + "0000", ask(ednsHeader + question + "000029" + "021b" + "00000000" + "0000"));
        assertEquals(540 * 2, ask(ednsHeader + question + "000029" + "021c" + "00000000" + "0000").length());
    }

    @Test
    void unknownEdnsVersionIsAnsweredWithOurs() {
        assertEquals("1234" + "8000" + "0000" + "0000" + "0000" + "0001" + "000029" + "1000" + "01000000" + "0000",
                ask("1234" + "0000" + "0001" + "0000" + "0000" + "0001" + "0178" + "0161" + "00" + "0001" + "0001"
                        + "000029" + "1000" + "00010000" + "0000"));
    }

    @Test
    void malformedQueryIsCountedAndGetsNoAnswer() {
        String[] bad = {"12", "1234" + "8000" + "0000" + "0000" + "0000" + "0000", QUERY_HEADER,
            QUERY_HEADER + "c00c" + "0001" + "0001", QUERY_HEADER + "ff61", QUERY_HEADER + "0161" + "00" + "0001",
            QUERY_HEADER + "3f61".repeat(200)};
        for (String query : bad) {
            assertNull(ask(query), query);
        }
        assertEquals(bad.length, responder.unreadable());
    }

    @Test
    void aZoneFileThatIsWrongIsExplained() {
        assertTrue(assertThrows(ExampleException.class, () -> ZoneFile.parse("f", "$ORIGIN a.\nx A 1.2.3.4\n"))
                .getMessage().contains("SOA"));
        String message = assertThrows(ExampleException.class, () -> ZoneFile.parse("f", "$ORIGIN a.\nx A ::1\n"))
                .getMessage();
        assertTrue(message.startsWith("f:2: "), message);
        assertThrows(ExampleException.class, () -> ZoneFile.parse("f", "x A 1.2.3.4\n"));
        assertThrows(ExampleException.class, () -> ZoneFile.parse("f", "$ORIGIN a.\nx SRV 1 2 3 x\n"));
    }
}

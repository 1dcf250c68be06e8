package io.rdmaraw.tools.demo.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.channel.embedded.EmbeddedChannel;
import io.rdmaraw.tools.ToolRun;
import java.nio.channels.ClosedChannelException;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class EchoClientTest {
    /** With 32 sockets, the hash would leave one of eight loops without a socket in each ninth run. */
    @Test
    void eightLoopsHaveSixteenSocketsEach() throws Exception {
        ToolRun run = ToolRun.of("demo", "sockets", "--device", "soft:loop:sockets", "--loops", "8", "--json");
        for (JsonNode check : run.json().get("checks")) {
            boolean isBulk = check.get("check").asText().equals("tcp-bulk");
            assertEquals(isBulk ? 1 : 128, check.get("sockets").asInt(), check.toString());
        }
        assertEquals(0, run.exitCode(), run.out());
    }

    @Test
    void exceptionWithoutMessageIsFailure() throws Exception {
        DatagramCheck check = new DatagramCheck(0, DemoHost.SERVER.at(Family.IPV4), 1);
        EchoClient.Socket socket = new EchoClient.Socket(check, new EmbeddedChannel().newFailedFuture(
                new ClosedChannelException()));
        String failure = EchoClient.failureOf(socket, System.nanoTime(), new TreeSet<>());
        assertEquals(ClosedChannelException.class.getName(), failure);
    }
}

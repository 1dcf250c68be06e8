package io.rdmaraw.tools.perf;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Environment;
import io.rdmaraw.tools.output.Json;

/**
 * A result in JSON with perftest's names. {@code results} holds the single row that perftest would report: the first
 * row of this side, or for latencies the first row measured from the actual send time. {@code rows} holds all rows, of
 * both sides and all lengths.
 */
final class PerfReport {
    private final ObjectNode root = Json.object();
    private final ArrayNode rows;

    PerfReport(String test, SideOptions sides, PerfFrames frames, PerfQueueOptions queues) {
        ObjectNode info = root.putObject("test_info");
        info.put("test", test);
        info.put("Device", sides.client().device());
        info.put("Server_device", sides.server().device());
        info.put("Side", sides.both() ? "both" : sides.runsServer() ? "server" : "client");
        info.put("Number_of_qps", queues.queuePairs()).put("Connection_type", "RawEth");
        info.put("TX_depth", queues.sendDepth()).put("RX_depth", queues.receiveDepth());
        info.put("CQ_Moderation", queues.signalInterval()).put("Post_List", queues.postList());
        info.put("Max_inline_data", queues.inlineBytes()).put("Events", queues.events()).put("RSS", queues.rss());
        info.put("Link_type", "Ethernet").put("Flows", frames.flows());
        info.put("Headers", frames.headerBytes());
        root.putObject("results");
        rows = root.putArray("rows");
        root.set("machine", Environment.machine());
        root.set("versions", Environment.versions());
    }

    ObjectNode row() {
        return rows.addObject();
    }

    ObjectNode info() {
        return (ObjectNode) root.get("test_info");
    }

    ObjectNode toJson() {
        if (!rows.isEmpty()) {
            root.set("results", perftestRow().deepCopy());
        }
        return root;
    }

    private JsonNode perftestRow() {
        for (JsonNode row : rows) {
            if ("send".equals(row.path("from").asText())) {
                return row;
            }
        }
        return rows.get(0);
    }
}

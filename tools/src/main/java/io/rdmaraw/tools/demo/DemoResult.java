package io.rdmaraw.tools.demo;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import io.rdmaraw.verbs.DeviceName;
import java.io.PrintWriter;
import java.util.Locale;

/**
 * The result of the demo.
 *
 * @param queueMode              how frames were exchanged with the device
 * @param frames                 number of frames that returned and were verified, including the warm-up
 * @param lost                   number of frames that did not return
 * @param corrupt                number of frames that returned changed, twice or out of order
 * @param nanosPerFrame          time per round trip at full window, without the warm-up
 * @param bytesAllocatedPerFrame Java heap allocated by both loops, without the warm-up
 */
record DemoResult(DemoOptions options, String queueMode, long frames, long lost, long corrupt,
        double nanosPerFrame, double bytesAllocatedPerFrame) {

    boolean isClean() {
        return lost == 0 && corrupt == 0 && frames > 0;
    }

    private double megaframesPerSecond() {
        return nanosPerFrame == 0 ? 0 : 1000 / nanosPerFrame;
    }

    ObjectNode toJson() {
        return Json.object().put("device", options.device())
                .put("echoDevice", options.echoDevice()).put("queues", queueMode)
                .put("frameBytes", options.frameBytes())
                .put("window", options.window()).put("frames", frames).put("lost", lost).put("corrupt", corrupt)
                .put("mfps", Json.rounded(megaframesPerSecond())).put("nsPerFrame", Json.rounded(nanosPerFrame))
                .put("bytesAllocatedPerFrame", Math.round(bytesAllocatedPerFrame * 1000) / 1000.0);
    }

    /** Returns whether no frame leaves the device: queues of the same softverbs device exchange frames in memory. */
    private boolean staysInMemory() {
        return options.device().equals(options.echoDevice()) && new DeviceName(options.device()).isSoftware();
    }

    void printTable(PrintWriter out) {
        new TextTable("echo on " + options.device(), "")
                .row("queues driven by", queueMode)
                .row("frames verified", String.format(Locale.ROOT, "%,d", frames))
                .row("lost", Long.toString(lost))
                .row("corrupt", Long.toString(corrupt))
                .row("Mframe/s there and back", String.format(Locale.ROOT, "%.3f", megaframesPerSecond()))
                .row("ns per frame", String.format(Locale.ROOT, "%.1f", nanosPerFrame))
                .row("bytes allocated per frame", String.format(Locale.ROOT, "%.3f", bytesAllocatedPerFrame))
                .print(out);
        if (staysInMemory()) {
            out.println("The frames went through memory, within " + options.device()
                    + ": none was on a wire (--echo-device names the other end of one).");
            out.flush();
        }
    }
}

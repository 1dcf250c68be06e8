package io.rdmaraw.tools.pktgen;

import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.tools.frame.TemplateRanges;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The options for the frames and their rate. */
final class TrafficOptions {
    private static final double RATE_TOLERANCE = 0.01;
    private static final String DEFAULT_TEMPLATE = "eth/ipv4/udp/payload(length=18)";

    @ArgGroup
    private Source source = new Source();

    @Option(names = {"-s", "--length"}, paramLabel = "BYTES", defaultValue = "0",
            description = "length of the templates' frames without FCS; 0: as the templates say")
    private int frameBytes;

    @Option(names = "--imix", description = "lengths of simple IMIX: of 12 frames 7 of 60 bytes, 4 of 590, 1 of 1514")
    private boolean imix;

    @Option(names = "--rate", paramLabel = "RATE", defaultValue = "0", converter = TrafficRate.Converter.class,
            description = "frames or bits per second: 100000, 1.5Mpps, 10Gbit; 0: no limit")
    private TrafficRate rate;

    @Option(names = "--replay", description = "send the frames of a file at the intervals at which they were captured")
    private boolean replay;

    @Option(names = "--speed", paramLabel = "X", defaultValue = "1", description = "of a replay; 2: twice as fast")
    private double speed;

    @Option(names = "--probe", description = "put a number and the time into each frame, for pktgen rx --probe")
    private boolean probes;

    /** The source of the frames: templates or a pcap file. */
    static final class Source {
        @Option(names = {"-T", "--template"}, paramLabel = "TEMPLATE", description = {FrameTemplate.SYNTAX
                + "; again for more flows.", "A value may be a range: udp(src=1000..1999),"
                + " ipv4(src=10.0.0.1..10.0.0.9);"
                + " each combination is a flow, " + TemplateRanges.MAX_TEMPLATES + " at most (default: "
                + DEFAULT_TEMPLATE + ')'})
        private List<String> templates = new ArrayList<>();

        @Option(names = {"-f", "--pcap"}, paramLabel = "FILE", description = "a pcap file of Ethernet frames")
        private Path pcap;
    }

    /**
     * Checks the options.
     *
     * @throws IllegalArgumentException if options contradict each other
     */
    void check() {
        boolean file = source.pcap != null;
        require(!file || frameBytes == 0 && !imix && !probes, "--length, --imix and --probe go with --template: the"
                + " frames"
                + " of a file are sent as they are");
        require(!imix || frameBytes == 0, "--imix and --length: one of them");
        require(file || !replay, "--replay goes with --pcap");
        require(!replay || rate.perSecond() == 0, "--replay and --rate: one of them");
        require(replay || speed == 1, "--speed goes with --replay");
        require(speed > 0 && speed <= 1e6, "--speed must be more than 0 and at most 1000000");
        require(rate.perSecond() >= 0, "--rate must not be negative");
    }

    private static void require(boolean right, String fault) {
        if (!right) {
            throw new IllegalArgumentException(fault);
        }
    }

    FrameSet frames() {
        if (source.pcap != null) {
            return FrameSet.ofPcap(source.pcap);
        }
        int[] lengths = imix ? FrameSet.IMIX : frameBytes == 0 ? new int[0] : new int[] {frameBytes};
        return FrameSet.ofTemplates(source.templates.isEmpty() ? List.of(DEFAULT_TEMPLATE) : source.templates, lengths,
                probes);
    }

    Pace pace(FrameSet frames, long nowNanos) {
        return replay ? new ReplayPace(frames.timestampsNanos(), speed, nowNanos) : rate.pace(nowNanos);
    }

    /** Returns the reached share of the requested rate; 0 if no rate was requested. */
    double reached(TrafficResult result) {
        return rate.reached(result.frames(), result.frameBytes(), result.seconds());
    }

    /** Prints a warning if the requested rate was missed by more than 1 %. */
    void warnIfMissed(PrintWriter err, TrafficResult result) {
        double reached = reached(result);
        if (reached > 0 && Math.abs(reached - 1) > RATE_TOLERANCE) {
            err.println(String.format(Locale.ROOT, "rdma-raw: of the rate asked for %.1f %% were reached: this machine"
                    + " or the device does not keep up", 100 * reached));
            err.flush();
        }
    }

    boolean probes() {
        return probes;
    }
}

package io.rdmaraw.tools.pktgen;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A rate as written by a user: {@code 1.5M} or {@code 1.5Mpps} frames per second, {@code 10Gbit} bits per second. Bits
 * are counted without FCS, preamble and inter-frame gap.
 *
 * @param perSecond frames or bits per second; 0 for no limit
 * @param bits      whether the rate counts bits
 */
record TrafficRate(double perSecond, boolean bits) {
    private static final Pattern FORM = Pattern.compile("([0-9.]+(?:e[0-9]+)?)([kmg]?)(pps|fps|bit/s|bit|bps|)",
            Pattern.CASE_INSENSITIVE);

    static TrafficRate parse(String text) {
        Matcher matcher = FORM.matcher(text.strip());
        if (!matcher.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not a rate: 100000, 1.5Mpps, 10Gbit");
        }
        double factor = switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
            case "k" -> 1e3;
            case "m" -> 1e6;
            case "g" -> 1e9;
            default -> 1;
        };
        return new TrafficRate(Double.parseDouble(matcher.group(1)) * factor,
                matcher.group(3).toLowerCase(Locale.ROOT).startsWith("b"));
    }

    double unitsOf(int frameBytes) {
        return bits ? frameBytes * 8.0 : 1;
    }

    /** Returns the share of this rate that was reached; 0 if no rate was requested. */
    double reached(long frames, long frameBytes, double seconds) {
        return perSecond == 0 || seconds == 0 ? 0 : (bits ? frameBytes * 8.0 : frames) / seconds / perSecond;
    }

    Pace pace(long nowNanos) {
        return perSecond == 0 ? Pace.unlimited() : new RatePace(this, nowNanos);
    }

    /** Converts option values for picocli. */
    static final class Converter implements ITypeConverter<TrafficRate> {
        @Override
        public TrafficRate convert(String text) {
            try {
                return parse(text);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }
}

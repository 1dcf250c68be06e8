package io.rdmaraw.microbench.profile;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Merges stacks into a call tree and renders it as a page with collapsible nodes. */
final class CallTree {
    private static final double PERCENT = 100;
    private static final double OPEN_PERCENT = 20;
    private static final double MIN_PERCENT = 0.5;

    private final Map<StackFrame, CallTree> calls = new LinkedHashMap<>();
    private long count;

    private CallTree() {
    }

    static CallTree of(Samples samples) {
        CallTree root = new CallTree();
        for (Samples.Stack stack : samples.stacks()) {
            root.count += stack.count();
            CallTree at = root;
            for (StackFrame frame : stack.frames()) {
                at = at.calls.computeIfAbsent(frame, name -> new CallTree());
                at.count += stack.count();
            }
        }
        return root;
    }

    String page(String title) {
        StringBuilder html = new StringBuilder("<!DOCTYPE html>\n"
                + "<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"
                + escape(title) + "</title><style>body{font:14px/1.5 monospace;margin:2em}details{margin-left:1.2em}"
                + "p{margin:0 0 0 2.3em}h1{font-size:1.2em}</style></head><body><h1>" + escape(title)
                + "</h1>\n<p>" + count + " samples; calls with less than half a percent are left out.</p>\n");
        append(html, count);
        return html.append("</body></html>\n").toString();
    }

    private void append(StringBuilder html, long all) {
        List<Map.Entry<StackFrame, CallTree>> dearestFirst = calls.entrySet().stream()
                .sorted((a, b) -> Long.compare(b.getValue().count, a.getValue().count)).toList();
        for (Map.Entry<StackFrame, CallTree> call : dearestFirst) {
            double percent = PERCENT * call.getValue().count / all;
            if (percent < MIN_PERCENT) {
                return;
            }
            String line = String.format(Locale.ROOT, "%5.1f %%  %s", percent, escape(call.getKey().name()));
            if (call.getValue().calls.isEmpty()) {
                html.append("<p>").append(line).append("</p>\n");
                continue;
            }
            html.append("<details").append(percent >= OPEN_PERCENT ? " open" : "").append("><summary>").append(line)
                    .append("</summary>\n");
            call.getValue().append(html, all);
            html.append("</details>\n");
        }
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}

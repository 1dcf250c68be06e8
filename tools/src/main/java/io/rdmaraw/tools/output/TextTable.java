package io.rdmaraw.tools.output;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** A text table. Columns are as wide as their longest cell; numbers are aligned to the right. */
public final class TextTable {
    private final List<String[]> rows = new ArrayList<>();
    private final int columns;

    public TextTable(String... header) {
        columns = header.length;
        rows.add(header);
    }

    public TextTable row(String... cells) {
        if (cells.length != columns) {
            throw new IllegalArgumentException(cells.length + " cells in a table of " + columns + " columns");
        }
        rows.add(cells);
        return this;
    }

    public void print(PrintWriter out) {
        int[] widths = new int[columns];
        for (String[] row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row[i].length());
            }
        }
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                String padding = " ".repeat(widths[i] - row[i].length());
                boolean right = row == rows.getFirst() ? isNumeric(rows.getLast()[i]) : isNumeric(row[i]);
                line.append(right ? padding + row[i] : row[i] + padding).append("  ");
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }

    private static boolean isNumeric(String cell) {
        return cell.matches("-?[\\d,.]+[kMGT%]?|-");
    }
}

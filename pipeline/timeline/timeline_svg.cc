#include "pipeline/timeline/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

constexpr int kCopyColor = kOperationKinds;

// Two shades for even and odd samples, after Okabe and Ito, and the colour of the text on them.
struct Ink {
  const char* name;
  std::array<const char*, 2> fill;
  const char* text;
};
constexpr std::array<Ink, kOperationKinds + 1> kInks = {
    {{"forward", {"#56b4e9", "#8fcdf1"}, "#10222e"},
     {"backward", {"#e69f00", "#f3c35c"}, "#2e2000"},
     {"weight gradient", {"#cc79a7", "#e2b0cb"}, "#2b1020"},
     {"update", {"#007a5a", "#3aa283"}, "#ffffff"},
     {"copy", {"#8a8f98", "#b4b8bf"}, "#000000"}}};

constexpr double kWidestDrawing = 1500;
constexpr double kWidestForward = 30;  // Room for two digits.
constexpr double kTop = 64;
constexpr double kRight = 16;
constexpr double kDigit = 6.4;
constexpr double kRoomForNumber = 3;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// Coordinates with at most one decimal.
std::string Px(double value) { return absl::StrCat(std::round(value * 10) / 10); }

// The positions of the parts.
struct Layout {
  explicit Layout(const TimelinePicture& picture) {
    const std::size_t rows = picture.row_names.size();
    std::size_t longest = 0;
    for (const std::string& name : picture.row_names) longest = std::max(longest, name.size());
    left = 24 + kDigit * static_cast<double>(longest);
    row = rows <= 8 ? 26 : (rows <= 16 ? 18 : 12);
    gap = rows <= 8 ? 5 : 2;
    copy_row = picture.copies.empty() ? 0 : std::max(3.0, row / 4);
    scale = std::min(ScaleForNumbers(picture), kWidestDrawing / picture.end);
    width = std::max(left + picture.end * scale + kRight, 420.0);
    height = Top(rows) + 52;
  }

  // The scale at which a typical forward just has room for its number.
  static double ScaleForNumbers(const TimelinePicture& picture) {
    std::vector<double> lengths;
    for (const TimelineEvent& event : picture.events) {
      if (event.step.kind == kForward && event.span.end > event.span.start) {
        lengths.push_back(event.span.end - event.span.start);
      }
    }
    if (lengths.empty()) return kWidestDrawing / picture.end;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    return kWidestForward / *middle;
  }

  [[nodiscard]] double X(double time) const { return left + time * scale; }
  [[nodiscard]] double Top(std::size_t device) const {
    return kTop + static_cast<double>(device) * (row + copy_row + gap);
  }

  double left = 0;
  double row = 0;
  double copy_row = 0;
  double gap = 0;
  double scale = 1;
  double width = 0;
  double height = 0;
};

class Drawing {
 public:
  explicit Drawing(const TimelinePicture& picture) : picture_(picture), layout_(picture) {}

  std::string Text() && {
    Begin();
    Rows();
    // An operation without duration is a thin line, drawn over its neighbours.
    for (const bool brief : {false, true}) {
      for (const TimelineEvent& event : picture_.events) {
        if ((event.span.end <= event.span.start) == brief) Operation(event);
      }
    }
    for (const CopyEvent& copy : picture_.copies) Copy(copy);
    Axis();
    Legend();
    absl::StrAppend(&svg_, "</svg>\n");
    return std::move(svg_);
  }

 private:
  void Begin() {
    const std::string width = Px(layout_.width), height = Px(layout_.height);
    absl::StrAppend(&svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width,
                    "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height,
                    "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n");
    absl::StrAppend(&svg_, "<title>", Escaped(picture_.title), "</title>\n");
    absl::StrAppend(&svg_, "<rect width=\"", width, "\" height=\"", height,
                    "\" rx=\"6\" fill=\"#ffffff\" stroke=\"#d0d4da\"/>\n");
    Write(16, 26, picture_.title, "font-size=\"16\" font-weight=\"bold\" fill=\"#1b1f24\"");
    Write(16, 46, picture_.subtitle, "fill=\"#4b5360\"");
  }

  void Rows() {
    for (std::size_t device = 0; device < picture_.row_names.size(); ++device) {
      const double top = layout_.Top(device);
      Box(layout_.left, top, picture_.end * layout_.scale, layout_.row, "#eef0f3");
      Write(layout_.left - 8, top + layout_.row / 2 + 4, picture_.row_names[device],
            "text-anchor=\"end\" fill=\"#1b1f24\"");
    }
  }

  void Operation(const TimelineEvent& event) {
    if (event.span.start >= picture_.end) return;
    const double end = std::min(event.span.end, picture_.end);
    const double width = std::max(1.5, (end - event.span.start) * layout_.scale - 0.5);
    const double x = layout_.X(event.span.start), top = layout_.Top(event.device);
    const Ink& ink = kInks[static_cast<int>(event.step.kind)];
    Box(x, top, width, layout_.row, ink.fill[event.step.first / event.step.samples() % 2],
        ToString(event.step));
    const std::string number = Number(event.step);
    if (layout_.row < 16 || width < kDigit * static_cast<double>(number.size()) + kRoomForNumber) {
      return;
    }
    Write(x + width / 2, top + layout_.row / 2 + 4, number,
          absl::StrCat("text-anchor=\"middle\" font-size=\"11\" fill=\"", ink.text, "\""));
  }

  static std::string Number(const Step& step) {
    if (step.samples() == 1) return absl::StrCat(step.first);
    return absl::StrCat(step.first, "-", step.last);
  }

  void Copy(const CopyEvent& copy) {
    if (copy.span.start >= picture_.end) return;
    const double end = std::min(copy.span.end, picture_.end);
    Box(layout_.X(copy.span.start), layout_.Top(copy.from_device) + layout_.row + 1,
        std::max(1.0, (end - copy.span.start) * layout_.scale - 0.5), layout_.copy_row,
        kInks[kCopyColor].fill[copy.step.first / copy.step.samples() % 2],
        absl::StrCat("copy ", ToString(copy.step)));
  }

  // Ticks at round times, about 70 pixels apart.
  void Axis() {
    const double y = layout_.Top(picture_.row_names.size()) + 2;
    const double wanted = 70 / layout_.scale;
    const double power = std::pow(10, std::floor(std::log10(wanted)));
    double step = 10 * power;
    for (double round : {5.0, 2.0, 1.0}) {
      if (round * power >= wanted) step = round * power;
    }
    for (int tick = 0; tick * step <= picture_.end * (1 + 1e-9); ++tick) {
      const double x = layout_.X(tick * step);
      absl::StrAppend(&svg_, "<path d=\"M", Px(x), " ", Px(y), "v4\" stroke=\"#4b5360\"/>\n");
      const bool named = tick == 0 && !picture_.unit.empty();
      Write(x, y + 16, absl::StrCat(tick * step, named ? " " : "", named ? picture_.unit : ""),
            "text-anchor=\"middle\" font-size=\"11\" fill=\"#4b5360\"");
    }
  }

  void Legend() {
    double x = layout_.left;
    const double y = layout_.height - 12;
    for (int kind = 0; kind < static_cast<int>(kInks.size()); ++kind) {
      if (!Shown(kind)) continue;
      for (const char* fill : kInks[kind].fill) {
        Box(x, y - 9, 10, 10, fill);
        x += 10;
      }
      Write(x + 5, y, kInks[kind].name, "fill=\"#1b1f24\"");
      x += 26 + kDigit * static_cast<double>(std::string_view(kInks[kind].name).size());
    }
    Write(x, y, "shade: even, odd samples", "fill=\"#4b5360\"");
  }

  [[nodiscard]] bool Shown(int kind) const {
    if (kind == kCopyColor) return !picture_.copies.empty();
    return std::any_of(picture_.events.begin(), picture_.events.end(), [&](const auto& event) {
      return static_cast<int>(event.step.kind) == kind;
    });
  }

  // NOLINTNEXTLINE(readability-function-size): a rectangle needs all these values.
  void Box(double x, double y, double width, double height, const char* fill,
           const std::string& tip = "") {
    absl::StrAppend(&svg_, "<rect x=\"", Px(x), "\" y=\"", Px(y), "\" width=\"", Px(width),
                    "\" height=\"", Px(height), "\" fill=\"", fill);
    absl::StrAppend(&svg_,
                    tip.empty() ? "\"/>\n" : absl::StrCat("\"><title>", tip, "</title></rect>\n"));
  }

  void Write(double x, double y, const std::string& text, const std::string& attributes) {
    absl::StrAppend(&svg_, "<text x=\"", Px(x), "\" y=\"", Px(y), "\" ", attributes, ">",
                    Escaped(text), "</text>\n");
  }

  const TimelinePicture& picture_;
  const Layout layout_;
  std::string svg_;
};

}  // namespace

std::string TimelineSvg(const TimelinePicture& picture) {
  MILLRACE_CHECK(picture.end > 0);
  return Drawing(picture).Text();
}

std::vector<std::string> RowNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto& order : plan.devices) {
    std::set<int> stages;
    bool forward = false, backward = false;
    for (const pipeline::Operation& operation : order) {
      stages.insert(operation.stage);
      forward |= operation.kind == kForward;
      backward |= operation.kind == kBackward;
    }
    std::string name =
        absl::StrCat(stages.size() == 1 ? "stage " : "stages ", absl::StrJoin(stages, ", "));
    if (forward != backward) absl::StrAppend(&name, forward ? ", forward" : ", backward");
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace millrace::pipeline

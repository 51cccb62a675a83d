// The last N tide readings, oldest first. No allocation after construction: the gauge has 64 KB.

#include <array>
#include <cstddef>
#include <optional>

namespace tide {

template <typename T, std::size_t N>
class RingBuffer {
public:
    void push(const T& reading) {
        slots_[(start_ + size_) % N] = reading;
        if (size_ < N) {
            ++size_;
        } else {
            start_ = (start_ + 1) % N;  // full: the oldest reading goes
        }
    }

    std::optional<T> pop_oldest() {
        if (size_ == 0) return std::nullopt;
        T oldest = slots_[start_];
        start_ = (start_ + 1) % N;
        --size_;
        return oldest;
    }

    std::size_t size() const noexcept { return size_; }

private:
    std::array<T, N> slots_{};
    std::size_t start_ = 0;
    std::size_t size_ = 0;
};

}  // namespace tide
